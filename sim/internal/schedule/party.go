package schedule

// Party is what a node has in the job.
type Party int

// The parties that whole nodes belong to.
const (
	Leading  Party = iota // it is node 0
	Working               // it has a client and no lanes
	Serving               // it has lanes and no client
	Complete              // it has both
	Parties
)

// PartyOf is the party of a node.
func PartyOf(leads, works, serves bool) Party {
	switch {
	case leads:
		return Leading
	case !works:
		return Serving
	case !serves:
		return Working
	}
	return Complete
}

func (p Party) String() string {
	return [Parties]string{"node 0", "client", "lanes", "client and lanes"}[p]
}
