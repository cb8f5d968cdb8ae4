package mf

import (
	"math/rand/v2"
	"slices"
	"testing"

	"bellows"
	"bellows/data"
	"bellows/random"
)

func TestBalanceDealsRatingsEvenly(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := make([]int32, 5000)
	var total, most int64
	for i := range count {
		count[i] = int32(1000 / (1 + r.IntN(200)))
		total += int64(count[i])
		most = max(most, int64(count[i]))
	}
	const parts = 13
	a := balance(count, parts, 3)
	loads := make([]int64, parts)
	taken := make([]bool, len(count))
	for id, c := range count {
		p, row := a.place[id].part, a.row[id]
		loads[p] += int64(c)
		if first, end := a.bounds[p], a.bounds[p+1]; bellows.RowID(row) < first || bellows.RowID(row) >= end {
			t.Fatalf("id %d has row %d outside its part's [%d,%d)", id, row, first, end)
		}
		if taken[row] {
			t.Fatalf("row %d has two ids", row)
		}
		taken[row] = true
	}
	// Graham: no part exceeds the mean by more than the last id dealt to it, here one rated little.
	for p, l := range loads {
		if l > total/parts+most/100 {
			t.Errorf("part %d holds %d of %d ratings", p, l, total)
		}
	}
	if b := balance(count, parts, 3); !slices.Equal(a.row, b.row) {
		t.Error("the same seed gives another order")
	}
	if b := balance(count, parts, 4); slices.Equal(a.row, b.row) {
		t.Error("another seed gives the same order")
	}
}

func TestBalanceWithIdsWithoutRatings(t *testing.T) {
	a := balance([]int32{0, 0, 7, 0, 0, 0}, 3, 1)
	for p := range 3 {
		if a.rows(p) < 1 {
			t.Errorf("part %d of six ids is empty", p)
		}
	}
	if a.rated() != 1 || a.seen(0) || !a.seen(2) || a.seen(-1) {
		t.Error("only id 2 has a rating")
	}
}

// visit is one rating by the table rows of its user and item.
type visit struct {
	user, item int32
	rating     float32
}

func (v visit) compare(o visit) int {
	return slices.Compare([]float32{float32(v.user), float32(v.item), v.rating}, []float32{float32(o.user), float32(o.item), o.rating})
}

// wanted returns every training rating of the problem's data, sorted.
func wanted(p *problem, m Made) []visit {
	set, _ := m.Sets()
	rows, _ := data.HoldOut(p.seed, set.Rows(), data.HeldAlone)
	var list []visit
	for _, r := range rows {
		list = append(list, visit{p.users.row[set.Ratings.User[r]], p.items.row[set.Ratings.Item[r]], p.scale.standard(set.Ratings.Rating[r])})
	}
	slices.SortFunc(list, visit.compare)
	return list
}

func problemFor(t *testing.T, m Made, c config) *problem {
	t.Helper()
	set, _ := m.Sets()
	p, err := newProblem(c, set.Ratings, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// shapes have as many splits as parts, more, a multiple, and fewer.
var shapes = []rotation{{1, 1}, {2, 2}, {3, 3}, {8, 8}, {8, 4}, {7, 3}, {9, 2}, {5, 1}, {1, 4}, {3, 5}, {4, 9}, {16, 6}}

func TestStrataVisitEveryRatingOnce(t *testing.T) {
	for _, shape := range shapes {
		p := problemFor(t, small, config{schedule: strata, splits: shape.splits, clocks: shape.parts, rank: 7, biases: true, step: 0.02})
		var got []visit
		for s := range p.shares {
			for c := range p.clocks {
				part := (s + c) % p.clocks
				items := p.itemsOf(bellows.SplitID(s), bellows.Clock(c))
				block := p.shares[s].slice(items.Begin, items.End)
				for j := range block.rating {
					if int(block.user[j]) >= p.users.rows(s) || int(block.item[j]) >= p.items.rows(part) {
						t.Fatalf("%+v: split %d clock %d visits user %d, item %d outside its parts", shape, s, c, block.user[j], block.item[j])
					}
					got = append(got, visit{int32(p.users.bounds[s]) + block.user[j], int32(p.items.bounds[part]) + block.item[j], block.rating[j]})
				}
			}
		}
		slices.SortFunc(got, visit.compare)
		if want := wanted(p, small); !slices.Equal(got, want) {
			t.Errorf("%+v: an epoch makes %d visits that are not the %d training ratings", shape, len(got), len(want))
		}
	}
}

// TestRotationAgreesWithItself: the holders of a part before and after, from the order alone.
func TestRotationAgreesWithItself(t *testing.T) {
	for _, o := range shapes {
		for part := range o.parts {
			var hands [][2]int // split and clock, in order
			for c := range o.parts {
				for s := range o.splits {
					if o.part(s, c) == part {
						hands = append(hands, [2]int{s, c})
					}
					if o.clockOf(s, o.part(s, c)) != c {
						t.Fatalf("%+v: split %d is not back at its part in clock %d", o, s, c)
					}
				}
			}
			for i, h := range hands {
				if o.first(h[0], h[1]) != (i == 0) {
					t.Errorf("%+v: split %d in clock %d is hand %d of part %d", o, h[0], h[1], i, part)
				}
				if holder, clocks := o.before(h[0]); i > 0 && hands[i-1] != [2]int{holder, h[1] - clocks} {
					t.Errorf("%+v: before %v comes split %d, %d clocks ago; want %v", o, h, holder, clocks, hands[i-1])
				}
				if i > 0 && o.Next(hands[i-1][0]) != h[0] {
					t.Errorf("%+v: after %v comes split %d, want %v", o, hands[i-1], o.Next(hands[i-1][0]), h)
				}
			}
		}
	}
}

func TestClocksVisitEveryRatingOnce(t *testing.T) {
	p := problemFor(t, small, config{schedule: ssp, splits: 3, clocks: 4, rank: 7, biases: true, step: 0.02})
	var got []visit
	for s := range p.shares {
		for c := range p.clocks {
			items := p.itemsOf(bellows.SplitID(s), bellows.Clock(c))
			block := p.shares[s].slice(items.Begin, items.End)
			for j := range block.rating {
				row := p.shares[s].pulls[c].rows[block.item[j]]
				got = append(got, visit{int32(p.users.bounds[s]) + block.user[j], int32(row), block.rating[j]})
			}
		}
	}
	slices.SortFunc(got, visit.compare)
	if want := wanted(p, small); !slices.Equal(got, want) {
		t.Errorf("an epoch makes %d visits that are not the %d training ratings", len(got), len(want))
	}
}

func TestTilesKeepTheBlockAndOrderIt(t *testing.T) {
	m := Made{Users: 300, Items: 200, Rank: 1, Each: 100, Mean: 0, Unit: 1, Seed: 3}
	// Rows of 2048 values make tiles of 24 rows.
	p := problemFor(t, m, config{schedule: strata, splits: 2, clocks: 2, rank: 2047, biases: true, step: 0.02})
	var got []visit
	changes := 0
	for s := range p.shares {
		for c := range p.clocks {
			part := (s + c) % p.splits
			block := p.shares[s].slice(p.shares[s].begin(c), p.shares[s].ends[c])
			seen := map[[2]int32]bool{}
			last := [2]int32{-1, -1}
			for j := range block.rating {
				tile := [2]int32{block.user[j] / 24, block.item[j] / 24}
				if tile != last {
					if seen[tile] {
						t.Fatalf("split %d clock %d comes back to tile %v", s, c, tile)
					}
					seen[tile], last = true, tile
					changes++
				}
				got = append(got, visit{int32(p.users.bounds[s]) + block.user[j], int32(p.items.bounds[part]) + block.item[j], block.rating[j]})
			}
		}
	}
	if changes < 4*20 {
		t.Errorf("%d tiles in 4 blocks of 150 x 100 rows", changes)
	}
	slices.SortFunc(got, visit.compare)
	if !slices.Equal(got, wanted(p, m)) {
		t.Error("ordering by tiles lost ratings")
	}
}

func TestProbesGroupByItemPart(t *testing.T) {
	p := problemFor(t, small, config{schedule: strata, splits: 4, rank: 3, biases: true, step: 0.02})
	list := []visit{{0, 0, 1}, {-1, 3, 2}, {5, -1, 3}, {-1, -1, 4}, {7, 9, 5}}
	var c columns
	for _, v := range list {
		c.user, c.item, c.rating = append(c.user, v.user), append(c.item, v.item), append(c.rating, v.rating)
	}
	grouped, err := (&planner[uint16]{problem: p, stages: make([]stage[uint16], 1)}).group(c, func(i int) int { return i })
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for s := range grouped {
		q := &grouped[s]
		for g := range 2*p.parts() + 2 {
			part, pairs := g%(p.parts()+1), g <= p.parts()
			c := q.group(part).rest
			if pairs {
				c = q.group(part).pairs
			}
			for j := range c.rating {
				found++
				one := list[slices.IndexFunc(list, func(o visit) bool { return p.scale.standard(o.rating) == c.rating[j] })]
				if pairs != (one.user >= 0 && one.item >= 0) {
					t.Errorf("probe %v is in the wrong block of part %d", one, part)
				}
				if (one.item < 0) != (part == p.parts()) || (one.item < 0) != (c.item[j] < 0) || (one.user < 0) != (c.user[j] < 0) {
					t.Errorf("probe %v is in part %d as user %d, item %d", one, part, c.user[j], c.item[j])
				}
				if one.user >= 0 && (p.users.place[one.user] != (place{int32(s), c.user[j]})) {
					t.Errorf("probe %v is scored by split %d as row %d", one, s, c.user[j])
				}
				if one.item >= 0 && (p.items.place[one.item] != (place{int32(part), c.item[j]})) {
					t.Errorf("probe %v is in part %d as row %d", one, part, c.item[j])
				}
			}
		}
	}
	if found != len(list) {
		t.Errorf("%d of %d probes are scored", found, len(list))
	}
}

func TestScaleOfEqualRatings(t *testing.T) {
	s := newScale([]float32{4, 9, 4, 4}, heldRows{1})
	if s.mean != 4 || s.deviation != 1 {
		t.Errorf("scale of equal ratings = %+v", s)
	}
}

// TestLayingInAnyNumberOfPieces: the work may be shared as the machine is, and the order is the same, in chunks of any size.
func TestLayingInAnyNumberOfPieces(t *testing.T) {
	for _, size := range []struct{ ratings, blocks int }{{5*dealStep + 17, 7}, {40, 7}, {6, 7}, {1000, 1}} {
		block := func(i int) int { return int(random.Derive(1, uint64(i))%uint64(size.blocks+1)) - 1 }
		for pieces := range 9 {
			l := &laying[int32]{ratings: size.ratings, blocks: size.blocks, columns: makeColumns,
				deal: func(s *stage[int32], begin, end int) {
					for i := begin; i < end; i++ {
						if b := block(i); b >= 0 {
							s.put(int32(b), entry[int32]{user: int32(i)})
						}
					}
				},
				order:  func(*orderer[int32], int) {},
				tiling: func(int) tiling { return whole },
			}
			all, err := l.lay(make([]stage[int32], pieces+1))
			if err != nil {
				t.Fatal(err)
			}
			for b := range size.blocks {
				var want []int32
				for i := range size.ratings {
					if block(i) == b {
						want = append(want, int32(i))
					}
				}
				if got := all.block(b).user; !slices.Equal(got, want) {
					t.Fatalf("%+v, %d pieces: block %d holds %d numbers that are not its %d in their order", size, pieces+1, b, len(got), len(want))
				}
			}
		}
	}
}

// TestSpentDataIsLaidOutAlike lays ratings out in their own memory; only their identity remains for the caller.
func TestSpentDataIsLaidOutAlike(t *testing.T) {
	m := Made{Users: 300, Items: 200, Rank: 1, Each: 100, Mean: 0, Unit: 1, Seed: 3}
	for _, schedule := range []string{strata, ssp} {
		c := config{schedule: schedule, splits: 2, clocks: 3, rank: 7, step: 0.02}
		want := problemFor(t, m, c)
		set, _ := m.Sets()
		digest, memory := set.Digest(), &set.Ratings.User[0]
		c.spent = set
		p, err := newProblem(c, set.Ratings, nil)
		if err != nil {
			t.Fatal(err)
		}
		for s := range p.shares {
			got, want := p.shares[s].blocks, want.shares[s].blocks
			if !slices.Equal(got.user, want.user) || !slices.Equal(got.item, want.item) || !slices.Equal(got.rating, want.rating) || !slices.Equal(got.ends, want.ends) {
				t.Errorf("%s: split %d differs", schedule, s)
			}
		}
		if &p.shares[0].user[0] != memory || set.Rows() != 0 {
			t.Errorf("%s: the memory is not that of the data, or the data still has %d rows", schedule, set.Rows())
		}
		if set.Digest() != digest {
			t.Errorf("%s: the digest was %s and is %s", schedule, digest, set.Digest())
		}
	}
}

// TestWideParts: parts of more rows than 16 bits count are laid out as narrow ones are.
func TestWideParts(t *testing.T) {
	m := Made{Users: 70_000, Items: 50, Rank: 1, Each: 2, Mean: 0, Unit: 1, Seed: 3}
	p := problemFor(t, m, config{schedule: strata, splits: 1, clocks: 1, rank: 1, step: 0.02})
	if p.users.narrow() || !p.items.narrow() {
		t.Fatal("the users of a part are to be too many")
	}
	var got []visit
	block := p.shares[0].block(0)
	for j := range block.rating {
		got = append(got, visit{block.user[j], block.item[j], block.rating[j]})
	}
	slices.SortFunc(got, visit.compare)
	if !slices.Equal(got, wanted(p, m)) {
		t.Errorf("%d visits are not the training ratings", len(got))
	}
}

// TestStrataLieAsOneSortPutsThem lays ratings out again in the plain way: one rating after the other into its block, each block shuffled, then by tiles.
func TestStrataLieAsOneSortPutsThem(t *testing.T) {
	m := Made{Users: 300, Items: 200, Rank: 1, Each: 100, Mean: 0, Unit: 1, Seed: 3}
	set, _ := m.Sets()
	p := problemFor(t, m, config{schedule: strata, splits: 2, clocks: 3, rank: 2047, biases: true, step: 0.02})
	_, held := data.HoldOut(p.seed, set.Rows(), data.HeldAlone)
	type rated struct {
		user, item place
		rating     float32
	}
	blocks := make([][]rated, 6)
	for row, r := range set.Ratings.Rating {
		u, i := p.users.place[set.Ratings.User[row]], p.items.place[set.Ratings.Item[row]]
		if b := int(u.part)*3 + p.rotation().clockOf(int(u.part), int(i.part)); !slices.Contains(held, int32(row)) {
			blocks[b] = append(blocks[b], rated{u, i, p.scale.standard(r)})
		}
	}
	for b, want := range blocks {
		rand.New(rand.NewPCG(p.seed, uint64(b))).Shuffle(len(want), func(i, j int) { want[i], want[j] = want[j], want[i] })
		slices.SortStableFunc(want, func(x, y rated) int {
			return slices.Compare([]int32{x.user.local / 24, x.item.local / 24}, []int32{y.user.local / 24, y.item.local / 24})
		})
		got := p.shares[b/3].block(b % 3)
		if len(got.rating) != len(want) {
			t.Fatalf("block %d has %d ratings, not %d", b, len(got.rating), len(want))
		}
		for j, w := range want {
			if got.user[j] != w.user.local || got.item[j] != w.item.local || got.rating[j] != w.rating {
				t.Fatalf("block %d: rating %d is of user %d and item %d, not of %d and %d", b, j, got.user[j], got.item[j], w.user.local, w.item.local)
			}
		}
	}
}

// TestHeldRowsAreFoundInPieces: they are those of the data's own list.
func TestHeldRowsAreFoundInPieces(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1, 1000, 1 << 17} {
		if got, want := findHeld(7, rows, data.HeldAlone), data.HeldRows(7, rows, data.HeldAlone); !slices.Equal(got, want) {
			t.Errorf("%d rows: %d are held out, not %d", rows, len(got), len(want))
		}
	}
}
