package bags

import (
	"io"
	"slices"
	"strings"

	"bellows/data/internal/lines"
	"bellows/data/internal/source"
)

// English names the list of EnglishStops.
const English = "english"

// english holds English function words, which do not tell what a text is about: articles, pronouns, prepositions,
// conjunctions, auxiliary verbs and their contractions, in the form of lines.Text.
const english = `
the an this that these those such same other another each every either neither both all any some none no nor not only own more most much many few less least several enough

me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself it its itself they them their theirs themselves
one ones oneself who whom whose which what whoever whatever whichever somebody someone something anybody anyone anything nobody nothing everybody everyone everything

of in on at by for with without within from to into onto upon about above below over under between among through throughout during before after since until till
against across along around behind beside besides beyond despite down near off out outside inside past per than toward towards up via

and or but if because as while when whenever where wherever whereas although though unless whether so yet then thus hence therefore however else once
how why here there too very just also again ever never always often still already even quite rather almost perhaps maybe indeed

am is are was were be been being do does did doing done have has had having will would shall should can could may might must ought cannot

i'm you're we're they're he's she's it's that's there's here's what's who's where's when's how's why's let's i've you've we've they've i'd you'd he'd she'd we'd they'd
i'll you'll he'll she'll it'll we'll they'll that'll isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't won't wouldn't shan't shouldn't can't
couldn't mayn't mightn't mustn't needn't oughtn't
`

// EnglishStops returns English stop words, sorted.
func EnglishStops() []string {
	words := strings.Fields(english)
	slices.Sort(words)
	return slices.Compact(words)
}

// StopsMost bounds the length of a list of stop words.
const StopsMost = 100_000

// stopsBytesMost bounds the size of its text.
const stopsBytesMost = 16 << 20

// Stops reads a text of stop words and returns them, sorted, without duplicates and those that documents cannot
// have. Its errors are *lines.Error.
func Stops(s *source.Stream) ([]string, error) {
	fail := func(what, how string) ([]string, error) {
		return nil, &lines.Error{File: s.In.Shown(), What: what, How: how}
	}
	text, err := io.ReadAll(io.LimitReader(s, stopsBytesMost+1))
	if err != nil {
		return nil, err
	}
	const one = "give a text with one stop word in each line"
	if len(text) > stopsBytesMost {
		return fail("a list of stop words has at most 16 MiB", one)
	}
	var words lines.IDs
	var p lines.Piece
	text = append(text, '\n')
	if f := (&lines.Text{Words: &words}).Parse(text, &p); f != nil {
		return nil, lines.Locate(s.In.Shown(), text, f)
	}
	list := words.List()
	switch {
	case len(list) == 0:
		return fail("it has no word with a letter and 2 or more characters", one)
	case len(list) > StopsMost:
		return fail("a list of stop words has at most 100,000", one)
	}
	slices.Sort(list)
	return list, nil
}
