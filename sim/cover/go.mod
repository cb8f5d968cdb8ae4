module bellows/sim/cover

go 1.26.0

require bellows v0.0.0-00010101000000-000000000000

replace bellows => ../..
