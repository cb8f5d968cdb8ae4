package frames

import "github.com/apache/arrow-go/v18/arrow"

// needs counts the nodes, buffers and variadic buffer counts of a record batch with values of some types. The library
// indexes that many without checking their number.
type needs struct {
	nodes   int
	buffers int // without the variadic ones
	views   int // columns with variadic buffers, whose number the batch states
}

// add adds the needs of a type, in the given version of the metadata.
func (n *needs) add(t arrow.DataType, version int) {
	if extended, ok := t.(arrow.ExtensionType); ok {
		n.add(extended.StorageType(), version)
		return
	}
	n.nodes++
	bitmap := 1
	switch t.ID() {
	case arrow.NULL:
		bitmap = 0
	case arrow.DENSE_UNION, arrow.SPARSE_UNION, arrow.RUN_END_ENCODED:
		if version >= metadataV5 {
			bitmap = 0
		}
	}
	n.buffers += bitmap
	switch t.ID() {
	case arrow.DICTIONARY: // its values come separately
		n.buffers++
		return
	case arrow.NULL, arrow.STRUCT, arrow.FIXED_SIZE_LIST, arrow.RUN_END_ENCODED:
	case arrow.STRING, arrow.BINARY, arrow.LARGE_STRING, arrow.LARGE_BINARY, arrow.LIST_VIEW, arrow.LARGE_LIST_VIEW,
		arrow.DENSE_UNION:
		n.buffers += 2
	case arrow.STRING_VIEW, arrow.BINARY_VIEW:
		n.buffers++
		n.views++
	default:
		n.buffers++
	}
	if nested, ok := t.(arrow.NestedType); ok {
		for _, f := range nested.Fields() {
			n.add(f.Type, version)
		}
	}
}

// metadataV5 is the version of Arrow 1.0. Before it, unions had bits for missing values.
const metadataV5 = 4

// dictionaries appends the types of values of all dictionaries in a type, in the order of the fields of a schema.
func dictionaries(t arrow.DataType, to []arrow.DataType) []arrow.DataType {
	if extended, ok := t.(arrow.ExtensionType); ok {
		return dictionaries(extended.StorageType(), to)
	}
	if d, ok := t.(*arrow.DictionaryType); ok {
		to, t = append(to, d.ValueType), d.ValueType
	}
	if nested, ok := t.(arrow.NestedType); ok {
		for _, f := range nested.Fields() {
			to = dictionaries(f.Type, to)
		}
	}
	return to
}
