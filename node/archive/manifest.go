package archive

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"bellows"
	"bellows/core/coord"
)

const (
	manifestFormat   = "bellows checkpoint 1"
	manifestBytesMax = 256 << 20 // of some 2^20 shards
	cutsFolder       = "cuts/"
	shardsFolder     = "shards/"
)

// ID is the identity of a job. The same job made of the same data has the same ID.
type ID [sha256.Size]byte

// At is the place of a cut in a job's history: the era, and the last commit that it contains. Later places are greater.
type At struct {
	Era    bellows.Era          `json:"era"`
	Commit bellows.CommitNumber `json:"commit"`
}

// Compare orders cuts by their age.
func (a At) Compare(b At) int {
	return cmp.Or(cmp.Compare(a.Era, b.Era), cmp.Compare(a.Commit, b.Commit))
}

// name returns the manifest's name. Names are in the order of age.
func (a At) name() string { return fmt.Sprintf("%se%010d-c%020d.json", cutsFolder, a.Era, a.Commit) }

var cutName = regexp.MustCompile(`^` + cutsFolder + `e([0-9]{10})-c([0-9]{20})\.json$`)

// at returns the place of the cut that a manifest's name denotes; false if it is not the name of a manifest.
func parseCutName(name string) (a At, ok bool) {
	if !cutName.MatchString(name) {
		return a, false
	}
	n, err := fmt.Sscanf(strings.TrimPrefix(name, cutsFolder), "e%d-c%d.json", &a.Era, &a.Commit)
	return a, n == 2 && err == nil && a.name() == name
}

// Entry is a shard as a manifest lists it.
type Entry struct {
	Table     bellows.TableID     `json:"table"`
	Partition bellows.PartitionID `json:"partition"`
	At                            // the cut that it was written for
	Kept      bool                `json:"kept"` // it also has what the driver kept
	Name      string              `json:"name"`
	Bytes     int64               `json:"bytes"`
	SHA256    string              `json:"sha256"` // of what is behind its header
}

// Ref returns the partition.
func (e *Entry) Ref() bellows.PartitionRef {
	return bellows.PartitionRef{Table: e.Table, Partition: e.Partition}
}

// name returns the name of the shard, by its content.
func (e *Entry) name() string {
	return fmt.Sprintf("%se%010d-c%020d-t%05d-p%010d", shardsFolder, e.Era, e.Commit, e.Table, e.Partition)
}

// eraOf returns the era that wrote a shard, by its name; 0: it has no name of a shard.
func eraOf(name string) (era bellows.Era) {
	if n, err := fmt.Sscanf(strings.TrimPrefix(name, shardsFolder), "e%d-c", &era); n != 1 || err != nil {
		return 0
	}
	return era
}

func (e *Entry) stamp(job ID) stamp { return stamp{job, e.At, e.Ref()} }

// A Manifest describes a cut. It is its JSON text, whose last field is the SHA-256 of the text itself with sixty-four
// zeros in place of the sum, so that a change of any byte is detected.
type Manifest struct {
	Format string `json:"format"`
	Job    string `json:"job"` // its identity, in hexadecimal digits
	At
	Time time.Time `json:"time"`
	// Controller is the controller's state, as encodeState has it.
	Controller []byte `json:"controller"`
	// Run is what the caller wants to have back.
	Run    json.RawMessage `json:"run,omitempty"`
	Shards []Entry         `json:"shards"` // in the order of tables and partitions
	SHA256 string          `json:"sha256"`

	saved coord.Saved
	// summed says that Latest has held every byte of its shards against their digests.
	summed bool
}

// State returns the state from which the controller of another attempt starts.
func (m *Manifest) State() coord.State { return m.saved.State }

// Saved returns the state from which another controller of this attempt continues.
func (m *Manifest) Saved() coord.Saved { return m.saved }

// Bytes returns the size of all its shards.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Shards {
		n += m.Shards[i].Bytes
	}
	return n
}

// HasKept reports whether the driver has kept the tables.
func (m *Manifest) HasKept() bool { return len(m.Shards) > 0 && m.Shards[0].Kept }

// find returns the entry of a partition; nil if there is none.
func (m *Manifest) find(ref bellows.PartitionRef) *Entry {
	i, found := slices.BinarySearchFunc(m.Shards, ref, func(e Entry, ref bellows.PartitionRef) int {
		return cmp.Or(cmp.Compare(e.Table, ref.Table), cmp.Compare(e.Partition, ref.Partition))
	})
	if !found {
		return nil
	}
	return &m.Shards[i]
}

var (
	hexSum = regexp.MustCompile(`^[0-9a-f]{64}$`)
	noSum  = strings.Repeat("0", 2*sha256.Size)
)

// encode returns the text with its own sum.
func (m Manifest) encode() ([]byte, error) {
	m.Format, m.SHA256 = manifestFormat, noSum
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	if len(text) > manifestBytesMax {
		return nil, fmt.Errorf("it has %d bytes, and at most %d can be read again", len(text), manifestBytesMax)
	}
	sum := sha256.Sum256(text)
	hex.Encode(text[bytes.LastIndex(text, []byte(noSum)):], sum[:])
	return text, nil
}

// parse reads the text of a cut's manifest.
func (a *Archive) parse(text []byte, where At) (*Manifest, error) {
	var head struct{ Format string }
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is damaged: it is not JSON: %w", err)
	}
	m := &Manifest{}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(m); err != nil {
		return nil, fmt.Errorf("it is damaged: it is no manifest: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("it is damaged: it has text after its last }")
	}
	if err := m.checkSum(text); err != nil {
		return nil, err
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("its format is %.40q, and this program reads %q", m.Format, manifestFormat)
	}
	if m.Job != hex.EncodeToString(a.id[:]) || m.At != where {
		return nil, fmt.Errorf("it is of another job, or of another cut: record %d of era %d", m.Commit, m.Era)
	}
	var err error
	if m.saved, err = decodeState(m.Controller); err != nil {
		return nil, err
	}
	if c := m.saved.Commit; c != 0 && c != m.Commit {
		return nil, fmt.Errorf("its controller is as of record %d, and its tables of %d", c, m.Commit)
	}
	return m, a.checkShards(m)
}

// checkSum compares the text with the sum in it.
func (m *Manifest) checkSum(text []byte) error {
	at := bytes.LastIndex(text, []byte(m.SHA256))
	if !hexSum.MatchString(m.SHA256) || at < 0 {
		return errors.New("it is damaged: it has no checksum")
	}
	plain := bytes.Clone(text)
	copy(plain[at:], noSum)
	if sum := sha256.Sum256(plain); hex.EncodeToString(sum[:]) != m.SHA256 {
		return errors.New("it is damaged: it does not have the checksum that it states")
	}
	return nil
}

// checkShards refuses lists that no Publish writes: all partitions must be there, in order, once; and as the driver
// kept them, either all or none.
func (a *Archive) checkShards(m *Manifest) error {
	i := 0
	for ref := range a.partitions() {
		if i == len(m.Shards) {
			return fmt.Errorf("it lacks %v", ref)
		}
		e := &m.Shards[i]
		i++
		if e.Ref() != ref || e.Kept != m.HasKept() || e.Name != e.name() || e.Bytes < headerBytes ||
			!hexSum.MatchString(e.SHA256) || e.At.Compare(m.At) > 0 {
			return fmt.Errorf("it lists %.80q where %v is to be", e.Name, ref)
		}
	}
	if i < len(m.Shards) {
		return fmt.Errorf("it lists %d shards, and the job has %d partitions", len(m.Shards), i)
	}
	return nil
}
