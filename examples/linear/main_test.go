package main

func Example() {
	main()
	// Output:
	// weight 0  3.0
	// weight 1  -2.0
	// weight 2  0.5
	// weight 3  1.0
	// updates sent = applied: true
}
