package table_test

import (
	"fmt"

	"bellows/table"
)

// A table of a million users with ten factors each: read at most two clocks stale, in 64 partitions of 40 MB in all.
func ExampleSchema_Cut() {
	users := table.Schema{Name: "users", Rows: 1_000_000, Width: 10, Consistency: table.SSP(2)}
	if err := users.Validate(); err != nil {
		fmt.Println(err)
	}
	cut := users.Cut()
	p := cut.Find(500_000)
	first, end := cut.Rows(p)
	fmt.Printf("%d partitions; row 500000 is in partition %d, rows %d to %d\n", cut.Len(), p, first, end-1)
	// Output: 64 partitions; row 500000 is in partition 32, rows 500000 to 515624
}

// What a read in clock 7 must see, at least.
func ExampleConsistency_Needs() {
	fmt.Println(table.BSP.Needs(7), table.SSP(2).Needs(7), table.SSP(10).Needs(7))
	// Output: 6 4 -1
}
