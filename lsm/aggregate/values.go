package aggregate

import "sluice/paimon/rowdata"

// latest takes the input whatever its kind: columns of the primary key.
type latest struct{}

func (latest) Reset() {}

func (latest) Add(acc, in *rowdata.Vector, i int) error {
	Set(acc, in, i)
	return nil
}
func (latest) AddOlder(_, _ *rowdata.Vector, _ int) error { return nil }

func (latest) Retract(acc, in *rowdata.Vector, i int) error {
	Set(acc, in, i)
	return nil
}

// lastValue takes the input, NULL included; a retract leaves NULL.
type lastValue struct{ latest }

func (lastValue) Retract(acc, _ *rowdata.Vector, _ int) error {
	SetNull(acc)
	return nil
}

// lastNonNull takes an input that is not NULL. A retract of such a value leaves
// NULL, whatever was held.
type lastNonNull struct{}

func (lastNonNull) Reset() {}

func (lastNonNull) Add(acc, in *rowdata.Vector, i int) error {
	if !in.IsNull(i) {
		Set(acc, in, i)
	}
	return nil
}

func (lastNonNull) AddOlder(acc, in *rowdata.Vector, i int) error {
	if acc.IsNull(0) {
		Set(acc, in, i)
	}
	return nil
}

func (lastNonNull) Retract(acc, in *rowdata.Vector, i int) error {
	if !in.IsNull(i) {
		SetNull(acc)
	}
	return nil
}

// first keeps the first value that it is called with for a key; what acc holds
// before that does not count.
type first struct {
	name  string
	nulls bool // NULL is a value
	found bool
	older older
}

func (f *first) Reset() { f.found = false }

func (f *first) Add(acc, in *rowdata.Vector, i int) error {
	if !f.found && (f.nulls || !in.IsNull(i)) {
		f.found = true
		Set(acc, in, i)
	}
	return nil
}

func (f *first) AddOlder(acc, in *rowdata.Vector, i int) error {
	return f.older.addOlder(f, acc, in, i)
}

func (f *first) Retract(_, _ *rowdata.Vector, _ int) error { return &RetractError{Function: f.name} }

// extreme keeps the least or the greatest value.
type extreme struct {
	name string
	max  bool
}

func (*extreme) Reset() {}

func (e *extreme) Add(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	// Equal values can differ in what a comparison does not see: max keeps the old
	// one, min takes the new one.
	if c := rowdata.Compare(in, i, acc, 0); e.max && c > 0 || !e.max && c <= 0 {
		Set(acc, in, i)
	}
	return nil
}

func (e *extreme) AddOlder(acc, in *rowdata.Vector, i int) error {
	if passNull(acc, in, i) {
		return nil
	}
	if c := rowdata.Compare(acc, 0, in, i); e.max && c <= 0 || !e.max && c > 0 {
		Set(acc, in, i)
	}
	return nil
}

func (e *extreme) Retract(_, _ *rowdata.Vector, _ int) error { return &RetractError{Function: e.name} }

// boolean is the conjunction or disjunction of the values that are not NULL.
type boolean struct {
	name string
	and  bool
}

func (*boolean) Reset() {}

func (b *boolean) Add(acc, in *rowdata.Vector, i int) error {
	switch {
	case passNull(acc, in, i):
	case b.and:
		acc.I32[0] &= in.I32[i]
	default:
		acc.I32[0] |= in.I32[i]
	}
	return nil
}

func (b *boolean) AddOlder(acc, in *rowdata.Vector, i int) error { return b.Add(acc, in, i) }

func (b *boolean) Retract(_, _ *rowdata.Vector, _ int) error { return &RetractError{Function: b.name} }
