package rowdata

// CanCast tells whether a column may change from one type to the other (format
// sections 2.5, 2.6): implicitly if nothing is lost but precision, else only
// explicitly. Nullability does not count. Constructed types change element by
// element and member by member; the keys of a MAP must stay as they are.
func CanCast(from, to *Type, explicit bool) bool {
	if from.Root == to.Root {
		switch from.Root {
		case Array, Multiset:
			return CanCast(from.Elem, to.Elem, explicit)
		case Vec:
			return from.Length == to.Length && CanCast(from.Elem, to.Elem, explicit)
		case Map:
			return from.Key.EqualIgnoreNull(to.Key) && CanCast(from.Elem, to.Elem, explicit)
		case Row:
			return canCastMembers(from, to, explicit)
		}
		return true
	}
	return castImplicit(from, to) || explicit && castExplicit(from, to)
}

func canCastMembers(from, to *Type, explicit bool) bool {
	for i := range to.Fields {
		j := memberOf(from, &to.Fields[i])
		if j >= 0 && !CanCast(from.Fields[j].Type, to.Fields[i].Type, explicit) {
			return false
		}
	}
	return true
}

// memberOf returns the position of the member of a ROW that has become f: the
// one with its id or, where types have no ids, with its name. -1: none.
func memberOf(from *Type, f *Field) int {
	ids := f.ID != 0
	for i := range from.Fields {
		ids = ids || from.Fields[i].ID != 0
	}
	for i := range from.Fields {
		if g := &from.Fields[i]; ids && g.ID == f.ID || !ids && g.Name == f.Name {
			return i
		}
	}
	return -1
}

func isInteger64(t *Type) bool { return t.Root >= TinyInt && t.Root <= BigInt }
func isFloat(t *Type) bool     { return t.Root == Float || t.Root == Double }
func isNumeric(t *Type) bool   { return t.Root >= TinyInt && t.Root <= Decimal }
func isStamp(t *Type) bool     { return t.Root == Timestamp || t.Root == TimestampLTZ }

// castImplicit is about types of different roots.
func castImplicit(from, to *Type) bool {
	switch to.Root {
	case SmallInt, Int, BigInt:
		return isInteger64(from) && from.Root < to.Root
	case Float:
		return isInteger64(from) || from.Root == Decimal
	case Double, Decimal:
		return isNumeric(from)
	case Varchar:
		return from.Root == Char
	case Varbinary:
		return from.Root == Binary
	case Date, Time:
		return from.Root == Timestamp
	case Timestamp, TimestampLTZ:
		return isStamp(from)
	}
	return false
}

func castExplicit(from, to *Type) bool {
	text := from.IsString()
	switch to.Root {
	case Char, Varchar:
		switch from.Root {
		case Date, Time, Timestamp, TimestampLTZ:
			return to.Root == Varchar && to.Length == MaxLength
		case Variant, Multiset, Vec, Blob:
			return false
		}
		return true
	case Boolean:
		return text || isInteger64(from)
	case TinyInt, SmallInt, Float, Double, Decimal:
		return text || from.Root == Boolean || isNumeric(from)
	case Int, BigInt:
		return text || from.Root == Boolean || isNumeric(from) || isStamp(from)
	case Binary, Varbinary:
		return text || from.Root == Binary || from.Root == Varbinary
	case Date:
		return text || isStamp(from)
	case Time:
		return text || isStamp(from)
	case Timestamp, TimestampLTZ:
		return text || from.Root == Date || from.Root == Time || from.Root == Int || from.Root == BigInt
	}
	return false
}

// Cast appends all rows of src to dst, converted to the type of dst as reading
// an old data file does (format section 2.6). NULL stays NULL. Integers wrap
// around, floats are cut to the nearest integer there is, decimals are rounded
// half away from zero and become NULL if they do not fit, as do NaN and infinity;
// text that cannot be parsed is an error. The error is a [*CastError] or a
// [*ValueError], after which dst is as it was.
func Cast(dst, src *Vector) error {
	n := dst.n
	err := castVector(dst, src)
	if err != nil {
		dst.Truncate(n)
	}
	return err
}

func castVector(dst, src *Vector) error {
	from, to := src.Type, dst.Type
	if sameValues(from, to) {
		dst.AppendRange(src, 0, src.n)
		return nil
	}
	switch {
	case from.Root == to.Root && to.IsNested():
		return castNested(dst, src)
	case from.IsString():
		return castText(dst, src)
	case to.IsString() || to.IsBinary():
		return castToBytes(dst, src)
	case to.Root == Decimal:
		return castToDecimal(dst, src)
	case to.Root <= BigInt:
		return castToInteger(dst, src)
	case isFloat(to):
		return castToFloat(dst, src)
	}
	return castToTime(dst, src)
}

// sameValues tells whether every value of one type is one of the other and is
// stored alike.
func sameValues(from, to *Type) bool {
	if from.Root != to.Root {
		return from.Root == Char && to.Root == Varchar && from.Length <= to.Length ||
			from.Root == Binary && to.Root == Varbinary && from.Length <= to.Length
	}
	switch from.Root {
	case Char, Binary:
		return from.Length == to.Length
	case Varchar, Varbinary:
		return from.Length <= to.Length
	case Decimal:
		return from.Scale == to.Scale && from.Precision <= to.Precision && from.Storage() == to.Storage()
	case Timestamp, TimestampLTZ:
		return from.Precision == to.Precision
	case Array, Multiset, Vec, Map, Row:
		return from.EqualIgnoreNull(to)
	}
	return true
}

// appendValid appends the NULLs of src to dst, to whose storage the values have
// been appended already.
func appendValid(dst, src *Vector) {
	if src.Valid == nil {
		if dst.Valid != nil {
			for range src.n {
				dst.Valid = append(dst.Valid, 1)
			}
		}
	} else {
		dst.materialize()
		dst.Valid = append(dst.Valid, src.Valid...)
	}
	dst.n += src.n
}
