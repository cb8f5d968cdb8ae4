package main

func Example() {
	main()
	// Output:
	// clock 1  cost 52763.7
	// clock 2  cost 7894.1
	// clock 3  cost 7883.7
	// clock 4  cost 7883.7
	// clock 5  cost 7883.7
	// clock 6  cost 7883.7
	// centre 0 at (1.97, 2.99) with 1332 points
	// centre 1 at (7.99, 2.99) with 1355 points
	// centre 2 at (2.03, 8.06) with 1313 points
}
