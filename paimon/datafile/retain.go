package datafile

import "sluice/paimon/rowdata"

// retain drops all rows of v but those at the positions keep, which ascend. It
// moves values within the memory of v.
func retain(v *rowdata.Vector, keep []int32) {
	n := len(keep)
	if v.Valid != nil {
		v.Valid = moveDown(v.Valid, keep)
	}
	switch v.Storage() {
	case rowdata.StoreI32:
		v.I32 = moveDown(v.I32, keep)
	case rowdata.StoreI64:
		v.I64 = moveDown(v.I64, keep)
	case rowdata.StoreF32:
		v.F32 = moveDown(v.F32, keep)
	case rowdata.StoreF64:
		v.F64 = moveDown(v.F64, keep)
	case rowdata.StoreI128:
		v.I128 = moveDown(v.I128, keep)
	case rowdata.StoreNanos:
		v.I64, v.I32 = moveDown(v.I64, keep), moveDown(v.I32, keep)
	case rowdata.StoreBytes:
		at := uint32(0)
		for k, i := range keep {
			from, to := v.Offs[i], v.Offs[i+1] // read before they are written over: k <= i
			at += uint32(copy(v.Data[at:], v.Data[from:to]))
			v.Offs[k+1] = at
		}
		v.Offs, v.Data = v.Offs[:n+1], v.Data[:at]
	case rowdata.StoreList, rowdata.StoreMap:
		var elems []int32
		for k, i := range keep {
			from, to := v.Offs[i], v.Offs[i+1]
			for e := from; e < to; e++ {
				elems = append(elems, int32(e))
			}
			v.Offs[k+1] = uint32(len(elems))
		}
		v.Offs = v.Offs[:n+1]
		for _, c := range v.Children {
			retain(c, elems)
		}
	case rowdata.StoreStruct:
		for _, c := range v.Children {
			retain(c, keep)
		}
	}
	v.SetLen(n)
}

// moveDown brings the elements at the ascending positions keep to the front.
func moveDown[T any](s []T, keep []int32) []T {
	for k, i := range keep {
		s[k] = s[i]
	}
	return s[:len(keep)]
}
