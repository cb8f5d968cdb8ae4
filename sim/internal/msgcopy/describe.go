package msgcopy

import (
	"fmt"
	"reflect"
	"strings"

	"bellows/link/wire"
)

// Describe returns a message in one line: the long ones in short, the others with all that they say.
func Describe(m wire.Message) string {
	switch m := m.(type) {
	case *wire.Push:
		return fmt.Sprintf("push %v clock %d, %d chunks, %d leases", m.Flush, m.Clock, len(m.Chunks), len(m.Leases))
	case *wire.Rows:
		s := fmt.Sprintf("rows for request %d", m.Request)
		for i := range m.Parts {
			s += fmt.Sprintf(" %v@%d", m.Parts[i].Ref, m.Parts[i].Commit)
		}
		return s
	case *wire.Pull:
		s := fmt.Sprintf("*wire.Pull Request:%d Incarnation:%d Need:%+v Route:%d Parts:[", m.Request, m.Incarnation, m.Need, m.Route)
		for i := range m.Parts {
			p := &m.Parts[i]
			s += strings.Repeat(" ", min(i, 1))
			s += fmt.Sprintf("{Pair:%+v Rows:%v Keys:%v Subscribe:%t}", p.Pair, p.Rows, p.Keys, p.Subscribe)
		}
		return s + "]"
	case *wire.Done:
		return fmt.Sprintf("done %v, %d units", m.Flush, len(m.Results))
	case *wire.Records:
		return fmt.Sprintf("records %v", m.List)
	case *wire.Dispatch:
		return fmt.Sprintf("dispatch at commit %d of %v", m.Commit, m.Tasks)
	}
	s := fmt.Sprintf("%T", m)
	for v, i := reflect.ValueOf(m).Elem(), 0; i < v.NumField(); i++ {
		if f := v.Type().Field(i); f.IsExported() {
			s += fmt.Sprintf(" %s:%+v", f.Name, v.Field(i))
		}
	}
	return s
}
