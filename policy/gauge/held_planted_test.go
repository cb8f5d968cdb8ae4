//go:build planted

package gauge_test

import (
	"os"

	"bellows/core/planted"
)

// Tests of a planted bug that no schedule shows are run by TestSurvivorsAreHeld, which says which it is.
func init() { planted.Plant(os.Getenv("BELLOWS_PLANTED")) }
