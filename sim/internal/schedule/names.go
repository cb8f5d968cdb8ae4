package schedule

// Names returns the valid names for fields of a schedule, and for variables with their values, by field or variable. Code uses
// names as literals; sim's TestNames refuses all others.
func Names() map[string][]string {
	names := map[string][]string{
		"Drive": {"running", "pipelined", "strata", "clocks", "rounds"},
		"Fate":  Fates[:], "fate": Fates[:], "Lost": turns[:], "turn": turns[:],
		"of": losable[:], "meddling": meddlings[:], "What": asks[:], "phase": Phases[:], "step": Phases[:],
	}
	for _, f := range Faults {
		names["Fault"] = append(names["Fault"], string(f.Name))
	}
	names["f"] = names["Fault"]
	return names
}
