package model

// pick is what a compaction takes: the first n runs, merged to level out. n is 0
// if there is nothing to do.
type pick struct{ n, out int }

// picker knows the options of picking (semantics sections 2.2 to 2.4).
type picker struct {
	trigger, top int
	forceUp      bool // level 0 is taken up each time
	patience     int  // or only after so many times; 0: each time
}

// on is the picker of a bucket with some runs, which may lie higher than the options
// say.
func (p picker) on(runs []run) *picker {
	for _, r := range runs {
		p.top = max(p.top, r.level)
	}
	return &p
}

// full is a full compaction that was asked for.
func (p *picker) full(runs []run) pick {
	if len(runs) == 0 || len(runs) == 1 && runs[0].level == p.top {
		return pick{}
	}
	return pick{len(runs), p.top}
}

// choice is a pick with how often nothing was picked since level 0 was taken up.
type choice struct {
	pick
	waited int
}

// choices returns what can be picked of a bucket: with patience, nothing but what
// universal compaction wants until it was asked often enough.
func (p *picker) choices(b *bucket) (out []choice) {
	if p.patience == 0 {
		for _, k := range p.possible(b.runs, p.forceUp) {
			out = append(out, choice{k, 0})
		}
		return out
	}
	for _, k := range p.possible(b.runs, false) {
		// Runs that are settled were picked all the same, and are not waited for.
		if k != (pick{}) {
			out = append(out, choice{k, b.waited})
		}
	}
	found := map[pick]bool{}
	if p.universal(b.runs, found); !found[pick{}] {
		if len(out) == 0 {
			out = append(out, choice{pick{}, b.waited})
		}
		return out
	}
	if b.waited+1 < p.patience {
		return append(out, choice{pick{}, b.waited + 1})
	}
	for _, k := range p.possible(b.runs, true) {
		out = append(out, choice{k, 0})
	}
	return out
}

// possible returns every pick that could be made if the sizes of runs were
// suitable.
func (p *picker) possible(runs []run, forceUp bool) []pick {
	found := map[pick]bool{}
	p.universal(runs, found)
	if found[pick{}] && forceUp {
		delete(found, pick{})
		n := 0
		for n < len(runs) && runs[n].level == 0 {
			n++
		}
		if n > 0 {
			p.extend(runs, n, true, found)
		} else {
			found[pick{}] = true
		}
	}
	var out []pick
	for k := range found {
		if k.n == 1 && runs[0].level == k.out {
			k = pick{}
		}
		out = append(out, k)
	}
	return out
}

func (p *picker) universal(runs []run, found map[pick]bool) {
	n := len(runs)
	if n < p.trigger {
		found[pick{}] = true
		return
	}
	found[pick{n, p.top}] = true // size amplification
	p.extend(runs, 1, false, found)
	if n > p.trigger {
		delete(found, pick{}) // too many runs: something is picked
		p.extend(runs, n-p.trigger+1, false, found)
	}
}

// extend notes what the walk over the runs may end with: at each run the sizes
// may be such that it stops. (That runs of levels 0 and 1 are taken whatever their
// sizes, as section 2.3 has it, is not so in the release.)
func (p *picker) extend(runs []run, n int, force bool, found map[pick]bool) {
	triggered := force || n > 1
	for i := n; i < len(runs); i++ {
		p.end(runs, n, triggered, found)
		n, triggered = n+1, true
	}
	p.end(runs, n, triggered, found)
}

func (p *picker) end(runs []run, n int, triggered bool, found map[pick]bool) {
	if !triggered {
		found[pick{}] = true
		return
	}
	out := p.top
	if n < len(runs) {
		out = max(0, runs[n].level-1)
	}
	if out == 0 {
		for n < len(runs) {
			n++
			if out = runs[n-1].level; out != 0 {
				break
			}
		}
	}
	if n == len(runs) {
		out = p.top
	}
	found[pick{n, out}] = true
}
