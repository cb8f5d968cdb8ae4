package bags

import (
	"bellows/data/internal/source"
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// A Defect describes what is wrong with a vocabulary.
type Defect struct {
	Line      int // from 1; 0: the file as a whole
	What, How string
}

// wordsMax bounds a vocabulary, like the widest row.
const wordsMax = 1 << 27

// Vocabulary reads one word per line: as many as the bag with that name has, or more if exact is false. err is the
// reader's error.
func Vocabulary(from io.Reader, count int, exact bool, bag string) (words []string, defect *Defect, err error) {
	words = make([]string, 0, min(count, 1<<20))
	seen := make(map[string]int, min(count, 1<<20))
	in := bufio.NewReaderSize(from, 64<<10)
	for line := 1; ; line++ {
		text, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, nil, err
		}
		if text == "" {
			break
		}
		word := strings.TrimRight(text, "\r\n")
		before, twice := seen[word]
		switch {
		case word == "":
			return nil, &Defect{line, "a word is missing", "line i is the word of number i; remove the blank line"}, nil
		case !utf8.ValidString(word) || strings.ContainsRune(word, 0):
			return nil, &Defect{line, "the word is not UTF-8 text", "is this the vocabulary?"}, nil
		case twice:
			return nil, &Defect{line, fmt.Sprintf("the word is that of line %d", before), "give each word one line"},
				nil
		case exact && len(words) == count, len(words) == wordsMax:
			return nil, &Defect{line, fmt.Sprintf("there are more words than the %d of %s", len(words), bag),
				"name the vocabulary of this bag with --vocab"}, nil
		}
		seen[word] = line
		words = append(words, word)
	}
	if len(words) < count {
		return nil, &Defect{0, fmt.Sprintf("it has %d words, %s has %d", len(words), bag, count),
			"name the vocabulary of this bag with --vocab"}, nil
	}
	return words, nil, nil
}

// VocabularyPaths returns the possible paths of the vocabulary of a bag: the named file, or the bag's neighbours.
func VocabularyPaths(bag, named string) []string {
	if named != "" {
		return []string{named}
	}
	folder, name := filepath.Split(bag)
	switch {
	case strings.Contains(name, "docword"):
		return source.PackedNames(folder + strings.Replace(name, "docword", "vocab", 1))
	case bag == "":
		return nil
	}
	stem := strings.TrimSuffix(strings.TrimSuffix(name, ".gz"), ".zst")
	return source.PackedNames(folder + strings.TrimSuffix(stem, filepath.Ext(stem)) + ".vocab")
}

// VocabularyName returns the name pattern of a vocabulary file next to its bag.
func VocabularyName(ldac bool) string {
	if ldac {
		return "NAME.vocab"
	}
	return "vocab.NAME.txt"
}
