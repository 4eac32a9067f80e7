package demo

import (
	"fmt"
	"math/rand/v2"

	"sluice/paimon/rowdata"
)

// hotOrders is how many of the newest orders change: older ones rest.
const hotOrders = 400

// shop generates changes of the orders that it knows to be in the table.
type shop struct {
	open   []order // the newest orders, oldest first
	nextID int64
}

// learn takes note of orders that the table already has, in key order.
func (s *shop) learn(b *rowdata.Batch) {
	for i := range b.N {
		s.put(orderAt(b, i))
	}
}

// apply takes note of changes that were written by somebody else.
func (s *shop) apply(c *rowdata.Changes) {
	for i := range c.N {
		o := orderAt(&c.Batch, i)
		switch c.Kind(i) {
		case rowdata.Insert:
			s.put(o)
		case rowdata.UpdateAfter:
			for k := range s.open {
				if s.open[k].id == o.id {
					s.open[k] = o
				}
			}
		case rowdata.Delete:
			s.remove(o.id)
		}
	}
}

func (s *shop) put(o order) {
	s.nextID = max(s.nextID, o.id+1)
	s.open = append(s.open, o)
	if len(s.open) > hotOrders {
		s.open = append(s.open[:0], s.open[1:]...)
	}
}

func (s *shop) remove(id int64) {
	for k := range s.open {
		if s.open[k].id == id {
			s.open = append(s.open[:k], s.open[k+1:]...)
			return
		}
	}
}

var (
	nextStatus = map[string]string{"NEW": "PAID", "PAID": "SHIPPED", "SHIPPED": "DELIVERED"}
	notes      = []string{"", "", "", "gift wrap", "leave at the door", "call before delivery"}
)

// step appends one generated change. It depends on the seed and on what the
// shop knows alone.
func (s *shop) step(dst *rowdata.Changes, seed, now int64) {
	r := rand.New(rand.NewPCG(uint64(seed), 0x5a1e))
	what := r.IntN(100)
	if len(s.open) < 10 || what < 35 {
		o := order{
			id: s.nextID, customer: fmt.Sprintf("customer-%03d", r.IntN(500)), status: "NEW",
			amount: 100 + r.Int64N(49_900), items: 1 + r.Int32N(6), note: notes[r.IntN(len(notes))], updatedAt: now,
		}
		o.appendTo(dst, rowdata.Insert)
		s.put(o)
		return
	}
	k := r.IntN(len(s.open))
	before := s.open[k]
	after := before
	after.updatedAt = now
	next, moves := nextStatus[before.status]
	switch {
	case what < 85 && moves:
		after.status = next
	case what < 94:
		after.items++
		after.amount += 100 + r.Int64N(900)
	default:
		before.appendTo(dst, rowdata.Delete)
		s.remove(before.id)
		return
	}
	before.appendTo(dst, rowdata.UpdateBefore)
	after.appendTo(dst, rowdata.UpdateAfter)
	s.open[k] = after
}
