package datafile

import (
	"sluice/paimon/manifest"
	"sluice/paimon/rowdata"
)

// plan is what is known of the files of a writer before the first row.
type plan struct {
	layout  Layout
	opts    Options
	fields  []rowdata.Field // physical
	modes   []StatsMode     // of each physical column
	noStats []bool          // columns whose statistics are not used
}

func newPlan(l Layout, o Options) *plan {
	p := &plan{layout: l, opts: o.withDefaults(l)}
	p.fields = l.Physical()
	p.modes = p.opts.Stats.of(l, p.opts.Format)
	p.noStats = make([]bool, len(p.fields))
	for i := range p.fields {
		name := p.fields[i].Name
		p.noStats[i] = p.modes[i].Kind == StatsNone || i < l.values() && (name == SequenceColumn || name == KindColumn)
	}
	return p
}

// stats fills the statistics of f from those of the physical columns (format
// section 5.5).
func (p *plan) stats(f *manifest.DataFile, found []rowdata.ColumnStats) {
	kept := func(i int) rowdata.ColumnStats { return p.modes[i].apply(found[i], p.fields[i].Type, p.opts.Format) }

	var key statsRow
	for i := range p.layout.Key {
		at := p.layout.keyAt(i)
		key.add(p.fields[at].Type, kept(at))
	}
	f.KeyStats = key.stats()

	var value statsRow
	names, dense := []string{}, !p.opts.Stats.NotDense
	values := p.fields[p.layout.values():]
	for i := range values {
		s := kept(p.layout.values() + i)
		if dense && s.Min == nil && s.Max == nil && s.Nulls < 0 {
			continue
		}
		names = append(names, values[i].Name)
		value.add(values[i].Type, s)
	}
	f.ValueStats = value.stats()
	if len(names) < len(values) {
		f.ValueStatsCols, f.HasValueStatsCols = names, true
	}
}
