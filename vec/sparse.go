package vec

// The sparse kernels are plain Go in every set: they wait for memory, and
// gather instructions do not help.

// SparseDot returns the sum of value[i]*dense[index[i]]: the product of a
// sparse vector, given by its indices and values, and a dense one. index and
// value have equal lengths; an index outside dense panics.
func SparseDot(index []int32, value, dense []float32) float32 {
	same("SparseDot", len(index), len(value))
	value = value[:len(index)]
	var s0, s1, s2, s3 float32
	i := 0
	for ; i+4 <= len(index); i += 4 {
		j, v := index[i:i+4:i+4], value[i:i+4:i+4]
		s0 += float32(v[0] * dense[j[0]])
		s1 += float32(v[1] * dense[j[1]])
		s2 += float32(v[2] * dense[j[2]])
		s3 += float32(v[3] * dense[j[3]])
	}
	for ; i < len(index); i++ {
		s0 += float32(value[i] * dense[index[i]])
	}
	return (s0 + s1) + (s2 + s3)
}

// SparseAxpy adds alpha times a sparse vector to a dense one:
// dense[index[i]] += alpha*value[i], in the order of i, so that an index may
// come more than once. index and value have equal lengths; an index outside
// dense panics, with the elements before it already added.
func SparseAxpy(alpha float32, index []int32, value, dense []float32) {
	same("SparseAxpy", len(index), len(value))
	value = value[:len(index)]
	i := 0
	for ; i+4 <= len(index); i += 4 {
		j, v := index[i:i+4:i+4], value[i:i+4:i+4]
		dense[j[0]] += float32(alpha * v[0])
		dense[j[1]] += float32(alpha * v[1])
		dense[j[2]] += float32(alpha * v[2])
		dense[j[3]] += float32(alpha * v[3])
	}
	for ; i < len(index); i++ {
		dense[index[i]] += float32(alpha * value[i])
	}
}
