package predictions

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"bellows"
)

// An Outlet is the destination of predictions: standard output, or a file. A file has another name until it is
// complete, so that a part is never taken for the whole; a file that is not regular, such as a named pipe, is written
// directly.
//
// Its states: open; Done, which gives the file its name; or closed without that, and then the written part stays under
// the other name.
type Outlet struct {
	io.Writer
	file  *os.File // nil: standard output
	name  string   // what it will be called; "" where it is called so already
	bytes int64    // written
}

// partial is what the name of a file ends in that is not whole.
const partial = ".partial"

// NewOutlet returns an outlet to a stream. It passes the stream's errors on unchanged.
func NewOutlet(out io.Writer) *Outlet { return &Outlet{Writer: out} }

// Create returns an outlet to a file, which must not be one of the inputs. Errors are of kind CannotWrite, or Usage.
func Create(name string, inputs []string) (*Outlet, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, bellows.Errorf(bellows.CannotWrite, "write", name, "it is a folder").Hinted("name a file with --out")
	case err == nil && !info.Mode().IsRegular():
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &Outlet{Writer: f, file: f}, cannot(name, err)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, cannot(name, err)
	}
	for _, in := range inputs {
		if other, err := os.Stat(strings.TrimPrefix(in, "file://")); err == nil && info != nil && os.SameFile(info, other) {
			return nil, bellows.Errorf(bellows.Usage, "write", name, "it is what is to be read").Hinted("name another file with --out")
		}
	}
	f, err := os.OpenFile(name+partial, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return nil, cannot(name+partial, err)
	}
	return &Outlet{Writer: f, file: f, name: name}, nil
}

func cannot(name string, err error) error {
	if err == nil {
		return nil
	}
	return bellows.Errorf(bellows.CannotWrite, "write", name, "%w", bellows.Pathless(err)).Hinted("give --out a place that can be written")
}

// Write implements io.Writer. Errors are of kind IO.
func (o *Outlet) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.bytes += int64(n)
	if err != nil && o.file != nil {
		err = bellows.Errorf(bellows.IO, "write", o.file.Name(), "%w", bellows.Pathless(err))
	}
	return n, err
}

// Kept returns where an unfinished part of the file stays, "" if there is none.
func (o *Outlet) Kept() string {
	if o.name == "" || o.bytes == 0 {
		return ""
	}
	return o.file.Name()
}

// Done ends a file that is whole. Errors are of kind IO.
func (o *Outlet) Done() error {
	if o.file == nil {
		return nil
	}
	f := o.file
	o.file = nil
	err := f.Close()
	if err == nil && o.name != "" {
		err = os.Rename(f.Name(), o.name)
	}
	if err != nil {
		return bellows.Errorf(bellows.IO, "write", f.Name(), "%w", bellows.Pathless(err))
	}
	return nil
}

// Close lets go of a file that was not ended. Of one that is empty nothing stays.
func (o *Outlet) Close() {
	if o.file == nil {
		return
	}
	o.file.Close() // it is no whole file in any case
	if o.name != "" && o.bytes == 0 {
		os.Remove(o.file.Name())
	}
}
