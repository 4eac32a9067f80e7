package avrofile

import (
	"fmt"

	"sluice/paimon/internal/ocf"
)

// checkBounded refuses schemas with lists whose elements take no bytes, and with
// nested records that take none: a few bytes could ask for any number of them,
// and no table has them.
func checkBounded(row *ocf.Schema) error {
	b := boundChecker{empty: map[*ocf.Schema]bool{}, seen: map[*ocf.Schema]bool{}}
	for i := range row.Fields {
		if err := b.check(row.Fields[i].Type); err != nil {
			return err
		}
	}
	return nil
}

type boundChecker struct {
	empty map[*ocf.Schema]bool // records: may values take no bytes?
	seen  map[*ocf.Schema]bool
}

func (b *boundChecker) check(t *ocf.Schema) error {
	if b.seen[t] {
		return nil
	}
	b.seen[t] = true
	switch t.Kind {
	case ocf.Record:
		if b.mayBeEmpty(t) {
			return fmt.Errorf("avro record %s takes no bytes: %w", t.Name, ErrCorrupt)
		}
		for i := range t.Fields {
			if err := b.check(t.Fields[i].Type); err != nil {
				return err
			}
		}
	case ocf.Union:
		for _, branch := range t.Branches {
			if err := b.check(branch); err != nil {
				return err
			}
		}
	case ocf.Array, ocf.Map:
		if t.Kind == ocf.Array && b.mayBeEmpty(t.Elem) {
			return fmt.Errorf("avro array of %s, which takes no bytes: %w", t.Elem.Kind, ErrCorrupt)
		}
		return b.check(t.Elem)
	}
	return nil
}

// mayBeEmpty tells whether values of the type may take no bytes. A record inside
// of itself counts as one that may.
func (b *boundChecker) mayBeEmpty(t *ocf.Schema) bool {
	switch t.Kind {
	case ocf.Null:
		return true
	case ocf.Fixed:
		return t.Size == 0
	case ocf.Record:
		if e, ok := b.empty[t]; ok {
			return e
		}
		b.empty[t] = true
		for i := range t.Fields {
			if !b.mayBeEmpty(t.Fields[i].Type) {
				b.empty[t] = false
				return false
			}
		}
		return true
	}
	return false
}
