package merge

import "math"

// less tells whether the head of source a comes before that of b. Equal
// heads come in the order of their sources, so that a merge is deterministic.
func (it *Iter) less(a, b int32) bool {
	if x, y := it.head[a], it.head[b]; x != y {
		return x < y
	}
	return it.lessSlow(a, b)
}

// lessSlow decides between heads of equal prefix.
func (it *Iter) lessSlow(a, b int32) bool {
	x, y := &it.cur[a], &it.cur[b]
	switch {
	case x.done || y.done:
		return !x.done && y.done || x.done == y.done && a < b
	case !x.exact || !y.exact:
		if c := it.key.Compare(&x.kv.Batch, x.pos, &y.kv.Batch, y.pos); c != 0 {
			return c < 0
		}
	}
	if c := it.order.Compare(x.kv, x.pos, y.kv, y.pos); c != 0 {
		return c < 0
	}
	return a < b
}

// buildTree plays all matches of the tournament. Source i is leaf len(cur)+i;
// node n holds the loser of the match between the winners of nodes 2n and 2n+1.
func (it *Iter) buildTree() {
	k := len(it.cur)
	it.node = make([]int32, k)
	it.win = it.play(1)
}

func (it *Iter) play(n int) int32 {
	k := len(it.cur)
	if n >= k {
		return int32(n - k)
	}
	l, r := it.play(2*n), it.play(2*n+1)
	if it.less(r, l) {
		l, r = r, l
	}
	it.node[n] = r
	return l
}

// replay plays the matches of the last winner again after its head has changed.
// With two sources that is one comparison.
func (it *Iter) replay() {
	w := it.win
	for n := (int(w) + len(it.node)) / 2; n > 0; n /= 2 {
		if it.less(it.node[n], w) {
			it.node[n], w = w, it.node[n]
		}
	}
	it.win = w
}

// challenge returns a prefix that the winner's records are certain to come
// before as long as theirs is less: the least prefix it would meet on its path.
func (it *Iter) challenge() uint64 {
	least := uint64(math.MaxUint64)
	for n := (int(it.win) + len(it.node)) / 2; n > 0; n /= 2 {
		least = min(least, it.head[it.node[n]])
	}
	return least
}
