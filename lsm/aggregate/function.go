package aggregate

import "sluice/paimon/rowdata"

// Function folds the values of one column. acc has one row; in is a column of the
// same type, of which row i is meant. After an error acc may hold anything.
type Function interface {
	// Reset forgets the last key.
	Reset()
	// Add folds a value into acc.
	Add(acc, in *rowdata.Vector, i int) error
	// AddOlder folds a value into acc that comes before what acc holds.
	AddOlder(acc, in *rowdata.Vector, i int) error
	// Retract takes a value back.
	Retract(acc, in *rowdata.Vector, i int) error
}

// Spec is what the options of a table say of one column.
type Spec struct {
	Function string // as in fields.<column>.aggregate-function
	Type     *rowdata.Type

	IgnoreRetract bool   // ignore-retract
	Distinct      bool   // distinct, of listagg and collect
	Delimiter     string // list-agg-delimiter; "" is a delimiter too

	NestedKey      []string // nested-key
	NestedSequence []string // nested-sequence-field
	NullKeys       NullKeys // nested-key-null-strategy
	CountLimit     int      // count-limit; no limit if negative

	TimeField string // ts-field of merge_map_with_keytime; the last field if ""

	// Lenient makes a decimal sum or product that its type cannot hold NULL, or
	// what 64 bits make of it, as the original does on reading. Otherwise it is an
	// error.
	Lenient bool
}

// NullKeys says what becomes of nested rows whose key has a NULL.
type NullKeys string

// The strategies.
const (
	NullKeysMerge  NullKeys = "merge"
	NullKeysIgnore NullKeys = "ignore"
	NullKeysError  NullKeys = "error"
)

// New returns a function. The error says what is wrong with the spec: an
// [*UnknownError], a [*TypeError] or a [*NestedFieldError].
func New(s Spec) (Function, error) {
	f, err := newFunction(s)
	if err != nil {
		return nil, err
	}
	if s.IgnoreRetract {
		f = &withoutRetract{Function: f, older: older{scratch: rowdata.NewVector(s.Type, 1)}}
	}
	return f, nil
}

func newFunction(s Spec) (Function, error) {
	scratch := func() *rowdata.Vector { return rowdata.NewVector(s.Type, 1) }
	switch s.Function {
	case "sum":
		return newSum(s)
	case "product":
		return newProduct(s)
	case "min", "max":
		if s.Type.IsNested() || s.Type.Root == rowdata.Blob {
			return nil, wrongType(s, "a type with an order")
		}
		return &extreme{name: s.Function, max: s.Function == "max"}, nil
	case "primary-key":
		return latest{}, nil
	case "last_value":
		return lastValue{}, nil
	case "last_non_null_value":
		return lastNonNull{}, nil
	case "first_value":
		return &first{name: s.Function, nulls: true, older: older{scratch: scratch()}}, nil
	case "first_non_null_value", "first_not_null_value":
		return &first{name: s.Function, older: older{scratch: scratch()}}, nil
	case "bool_and", "bool_or":
		if s.Type.Root != rowdata.Boolean {
			return nil, wrongType(s, "BOOLEAN")
		}
		return &boolean{name: s.Function, and: s.Function == "bool_and"}, nil
	case "listagg":
		return newListAgg(s)
	case "collect":
		return newCollect(s)
	case "merge_map":
		return newMergeMap(s)
	case "merge_map_with_keytime":
		return newKeyTimeMap(s)
	case "nested_update":
		return newNestedUpdate(s)
	case "nested_partial_update":
		return newNestedPartial(s)
	case "rbm32", "rbm64", "hll_sketch", "theta_sketch":
		return newUnion(s)
	}
	return nil, &UnknownError{Function: s.Function}
}

// Set makes acc hold row i of in.
func Set(acc, in *rowdata.Vector, i int) {
	acc.Truncate(0)
	acc.AppendFrom(in, i)
}

// SetNull makes acc NULL.
func SetNull(acc *rowdata.Vector) {
	acc.Truncate(0)
	acc.AppendNull()
}

// passNull adds row i of in the way of functions that ignore NULL, where one of the
// two is NULL: then all is done.
func passNull(acc, in *rowdata.Vector, i int) (done bool) {
	switch {
	case in.IsNull(i):
		return true
	case acc.IsNull(0):
		Set(acc, in, i)
		return true
	}
	return false
}

// older gives a function the usual way to add an older value: what acc holds is
// added to that value.
type older struct{ scratch *rowdata.Vector }

func (o *older) addOlder(f Function, acc, in *rowdata.Vector, i int) error {
	Set(o.scratch, in, i)
	if err := f.Add(o.scratch, acc, 0); err != nil {
		return err
	}
	*acc, *o.scratch = *o.scratch, *acc
	return nil
}

// withoutRetract is a function for which retracts do nothing: ignore-retract.
type withoutRetract struct {
	Function
	older older
}

func (w *withoutRetract) Retract(_, _ *rowdata.Vector, _ int) error { return nil }

// AddOlder is the usual way, also where the function has one of its own.
func (w *withoutRetract) AddOlder(acc, in *rowdata.Vector, i int) error {
	return w.older.addOlder(w.Function, acc, in, i)
}
