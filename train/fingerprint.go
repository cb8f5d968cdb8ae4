package train

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"runtime"
	"runtime/debug"

	"bellows"
	"bellows/vec"
)

// fingerprintClocks is the number of clocks per split whose items enter the fingerprint.
const fingerprintClocks = 4

// Fingerprint identifies a job and the program that runs it here, so that joining nodes can be compared. It does not
// inspect the Driver and executors; the program's version and Job.Data represent them. It asks Items for the first four
// clocks of each split: some milliseconds for 100,000 splits.
func Fingerprint(job *Job, wire vec.Format) bellows.Fingerprint {
	return bellows.Fingerprint{
		Tables: hashed(func(w io.Writer) {
			for i := range job.Tables {
				s := &job.Tables[i]
				fmt.Fprintf(w, "%#v %#v\n", *s, s.Cut()) // all fields, including future ones
			}
		}),
		Splits: hashed(func(w io.Writer) {
			var b [16]byte
			fmt.Fprintf(w, "%d splits\n", job.Splits)
			for s := range bellows.SplitID(job.Splits) {
				for c := range bellows.Clock(fingerprintClocks) {
					items := job.Items(s, c)
					binary.LittleEndian.PutUint64(b[:], uint64(items.Begin))
					binary.LittleEndian.PutUint64(b[8:], uint64(items.End))
					w.Write(b[:])
				}
			}
		}),
		Data:    hashed(func(w io.Writer) { io.WriteString(w, job.Data) }),
		Formats: hashed(func(w io.Writer) { fmt.Fprintf(w, "%d", wire) }),
		Kernels: hashed(func(w io.Writer) { io.WriteString(w, vec.Kernels()) }),
		Program: hashed(func(w io.Writer) {
			info, _ := debug.ReadBuildInfo()
			program(w, info)
		}),
	}
}

func hashed(write func(io.Writer)) uint64 {
	h := fnv.New64a()
	write(h)
	return h.Sum64()
}

// program writes which build this is: its Go version and revision. info is nil for a build without modules.
func program(w io.Writer, info *debug.BuildInfo) {
	io.WriteString(w, runtime.Version())
	if info == nil {
		return
	}
	fmt.Fprintf(w, " %s %s", info.Path, info.Main.Version)
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" {
			fmt.Fprintf(w, " %s", s.Value)
		}
	}
}
