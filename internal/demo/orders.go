package demo

import "sluice/paimon/rowdata"

// Table is the name of the demo's table.
const Table = "shop.orders"

// Columns of the orders table, in schema order.
const (
	colID = iota
	colCustomer
	colStatus
	colAmount
	colItems
	colNote
	colUpdatedAt
)

// Fields are the columns of the orders table in the text form of table specs.
func Fields() []string {
	return []string{
		"id BIGINT NOT NULL", "customer STRING NOT NULL", "status STRING NOT NULL", "amount DECIMAL(10, 2) NOT NULL",
		"items INT NOT NULL", "note STRING", "updated_at TIMESTAMP(3) NOT NULL",
	}
}

// order is one row of the table.
type order struct {
	id        int64
	customer  string
	status    string
	amount    int64 // hundredths
	items     int32
	note      string // empty: NULL
	updatedAt int64  // epoch milliseconds
}

func (o *order) appendTo(c *rowdata.Changes, kind rowdata.RowKind) {
	c.Cols[colID].AppendI64(o.id)
	c.Cols[colCustomer].AppendString(o.customer)
	c.Cols[colStatus].AppendString(o.status)
	c.Cols[colAmount].AppendI64(o.amount)
	c.Cols[colItems].AppendI32(o.items)
	if o.note == "" {
		c.Cols[colNote].AppendNull()
	} else {
		c.Cols[colNote].AppendString(o.note)
	}
	c.Cols[colUpdatedAt].AppendI64(o.updatedAt)
	c.CloseRow()
	c.Kinds = append(c.Kinds, kind)
}

func orderAt(b *rowdata.Batch, i int) order {
	o := order{
		id: b.Cols[colID].I64[i], customer: string(b.Cols[colCustomer].Bytes(i)), status: string(b.Cols[colStatus].Bytes(i)),
		amount: b.Cols[colAmount].I64[i], items: b.Cols[colItems].I32[i], updatedAt: b.Cols[colUpdatedAt].I64[i],
	}
	if !b.Cols[colNote].IsNull(i) {
		o.note = string(b.Cols[colNote].Bytes(i))
	}
	return o
}
