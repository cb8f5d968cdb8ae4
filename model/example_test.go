package model_test

import (
	"fmt"
	"os"

	"bellows/model"
)

// Two items with a factor vector each are saved, opened, and looked up by their ids.
func ExampleSave() {
	dir, err := os.MkdirTemp("", "model")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	err = model.Save(dir, &model.Model{
		App:     "mf",
		Tensors: []model.Tensor{{Name: "items", Shape: []int{2, 3}, Floats: []float32{1, 2, 3, 4, 5, 6}}},
		IDs:     []model.IDs{{File: "items.txt", Names: []string{"dune", "solaris"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := model.Open(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	width := m.Tensor("items").Shape[1]
	for i, name := range m.Names("items.txt") {
		fmt.Println(name, m.Tensor("items").Floats[i*width:(i+1)*width])
	}
	// Output:
	// dune [1 2 3]
	// solaris [4 5 6]
}
