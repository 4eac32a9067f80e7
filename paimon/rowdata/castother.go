package rowdata

// castText casts CHAR and VARCHAR to anything.
func castText(dst, src *Vector) error {
	if t := dst.Type.Root; t == Multiset || t == Vec || t == Variant {
		return &CastError{src.Type, dst.Type}
	}
	bytes := dst.store == StoreBytes
	for i := range src.n {
		switch {
		case src.IsNull(i):
			dst.AppendNull()
		case bytes:
			appendSized(dst, src.Bytes(i))
		default:
			if err := AppendParsed(dst, string(src.Bytes(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// castToBytes casts anything but text to text, and between binaries. Binaries
// and constructed values keep their length whatever the text type says.
func castToBytes(dst, src *Vector) error {
	from, to := src.Type, dst.Type
	if from.Root != to.Root && !castImplicit(from, to) && !castExplicit(from, to) {
		return &CastError{from, to}
	}
	cut := !to.IsString() || !from.IsBinary() && !from.IsNested()
	var buf []byte
	for i := range src.n {
		if src.IsNull(i) {
			dst.AppendNull()
			continue
		}
		var b []byte
		if src.store == StoreBytes {
			b = src.Bytes(i)
		} else {
			buf = AppendText(buf[:0], src, i)
			b = buf
		}
		if cut {
			appendSized(dst, b)
		} else {
			dst.AppendBytes(b)
		}
	}
	return nil
}

// castToTime casts to DATE, TIME and timestamps. TIMESTAMP and TIMESTAMP_LTZ are
// the same instant, read in UTC. As in Java, digits are cut off towards 1970,
// which makes the last second of 1969 a second of 1970.
func castToTime(dst, src *Vector) error {
	if !CanCast(src.Type, dst.Type, true) {
		return &CastError{src.Type, dst.Type}
	}
	to := dst.Type
	for i := range src.n {
		if src.IsNull(i) {
			dst.AppendNull()
			continue
		}
		var ms int64
		var ns int32
		switch src.Type.Root {
		case Date:
			ms = int64(src.I32[i]) * millisPerDay
		case Time:
			ms = int64(src.I32[i])
		case Int:
			ms = int64(src.I32[i]) * 1000
		case BigInt:
			ms = src.I64[i] * 1000
		default:
			ms, ns = src.TimestampAt(i)
		}
		switch {
		case to.Root == Date && src.Type.Root == TimestampLTZ:
			dst.AppendI32(int32(floorDiv(ms, millisPerDay)))
		case to.Root == Date:
			dst.AppendI32(int32(ms / millisPerDay))
		case to.Root == Time:
			dst.AppendI32(int32(floorMod(ms, millisPerDay)))
		case !stampFits(dst, ms):
			dst.AppendNull()
		default:
			if isStamp(src.Type) {
				if to.Precision <= 3 {
					unit := pow10[3-to.Precision]
					ms, ns = ms/unit*unit, 0
				} else {
					unit := int32(pow10[9-to.Precision])
					ns = ns / unit * unit
				}
			}
			dst.AppendTimestamp(ms, ns)
		}
	}
	return nil
}

// castNested casts between constructed types of one root.
func castNested(dst, src *Vector) error {
	from, to := src.Type, dst.Type
	switch {
	case to.Root == Row:
		return castRows(dst, src)
	case to.Root == Map && !from.Key.EqualIgnoreNull(to.Key), to.Root == Vec && from.Length != to.Length:
		return &CastError{from, to}
	}
	shift := uint32(dst.Children[0].n)
	for c := range dst.Children {
		if err := castVector(dst.Children[c], src.Children[c]); err != nil {
			return err
		}
	}
	for _, o := range src.Offs[1:] {
		dst.Offs = append(dst.Offs, o+shift)
	}
	appendValid(dst, src)
	return nil
}

// castRows gives each member the values of the member it comes from, NULL if
// there is none. A row none of whose members was known is NULL as a whole.
func castRows(dst, src *Vector) error {
	known := false
	for c := range dst.Children {
		child := dst.Children[c]
		j := memberOf(src.Type, &dst.Type.Fields[c])
		if j < 0 {
			for range src.n {
				child.AppendNull()
			}
			continue
		}
		known = true
		if err := castVector(child, src.Children[j]); err != nil {
			return err
		}
	}
	if known || len(dst.Children) == 0 {
		appendValid(dst, src)
		return nil
	}
	dst.materialize()
	for range src.n {
		dst.Valid = append(dst.Valid, 0)
	}
	dst.n += src.n
	return nil
}
