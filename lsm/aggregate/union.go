package aggregate

import (
	"sluice/lsm/aggregate/sketch"
	"sluice/paimon/rowdata"
)

// union joins bitmaps or sketches.
type union struct {
	name string
	of   sketch.Union
	buf  []byte
}

func newUnion(s Spec) (*union, error) {
	if s.Type.Root != rowdata.Varbinary && s.Type.Root != rowdata.Binary {
		return nil, wrongType(s, "VARBINARY")
	}
	return &union{name: s.Function, of: sketch.New(s.Function)}, nil
}

func (*union) Reset() {}

func (u *union) Add(acc, in *rowdata.Vector, i int) (err error) {
	if passNull(acc, in, i) {
		return nil
	}
	return u.set(acc, acc.Bytes(0), in.Bytes(i))
}

func (u *union) set(acc *rowdata.Vector, a, b []byte) (err error) {
	if u.buf, err = u.of.Union(u.buf[:0], a, b); err != nil {
		return err
	}
	acc.Truncate(0)
	acc.AppendBytes(u.buf)
	return nil
}

func (u *union) AddOlder(acc, in *rowdata.Vector, i int) error {
	if in.IsNull(i) || acc.IsNull(0) {
		return u.Add(acc, in, i)
	}
	return u.set(acc, in.Bytes(i), acc.Bytes(0))
}

func (u *union) Retract(_, _ *rowdata.Vector, _ int) error { return &RetractError{Function: u.name} }
