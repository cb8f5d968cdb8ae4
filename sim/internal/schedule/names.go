package schedule

// Names returns the names that fields of a schedule, and variables with their values, may have, by field or variable. A name is a
// literal where it is used; sim's TestNames refuses all others.
func Names() map[string][]string {
	names := map[string][]string{
		"Drive": {"running", "pipelined", "strata", "clocks", "rounds"},
		"Fate":  Fates[:], "fate": Fates[:], "Lost": turns[:], "turn": turns[:],
		"of": losable[:], "meddling": meddlings[:], "phase": Phases[:], "step": Phases[:],
	}
	for _, f := range Faults {
		names["Fault"] = append(names["Fault"], string(f.Name))
	}
	names["f"] = names["Fault"]
	return names
}
