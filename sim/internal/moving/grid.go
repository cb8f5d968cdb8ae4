package moving

// The grid is the steps of a move, and the kinds of messages that come meanwhile, to anybody. In many schedules every cell of it is filled, but for those that have a reason here.

// nowhere are the kinds that come to no actor of the simulation, whatever moves.
var nowhere = map[string]string{
	"refused": "it is for a node of the past, which the job has not",
	"report":  "it is for people, and of a process",
	"bye":     "it is a connection's own", "ack": "it is a connection's own", "resume": "it is a connection's own",
}

// Cannot says why no message of a kind, by its name, comes while a move is so far; "": some do.
func Cannot(s Step, kind string) string {
	if why := nowhere[kind]; why != "" {
		return why
	}
	return ""
}

// Seldom reports whether a kind need not come while a move is so far, though it may: a task says that it has computed for seconds, and a move takes as many milliseconds. State is asked for when all
// lanes have closed, and a lane closes behind all that comes to it; but one that has not heard of the end is not waited for for ever (seed 228561).
func Seldom(s Step, kind string) bool {
	switch kind {
	case "computing":
		return true
	case "collect", "collected", "slab":
		return s == Recorded
	}
	return false
}
