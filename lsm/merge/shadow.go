package merge

import "sluice/paimon/rowdata"

// shadows keeps the records of a key until all of them are there: only then it is
// known which record above level 0 is on the lowest level. A key has at most one
// record in each run, so that they are few.
type shadows struct {
	records *rowdata.KeyValues
	levels  []int32
}

func (s *shadows) keep(kv *rowdata.KeyValues, i int, level int32) {
	if s.records == nil {
		s.records = rowdata.NewKeyValues(kv.Type, 0)
	}
	s.records.AppendFrom(kv, i)
	s.levels = append(s.levels, level)
}

// lone returns the record that counts if it is the only one: it stands for the key
// as it is. An engine that was given it again could make another row of it than was
// told when it was stored, as partial-update does where the sequence of a group is
// NULL.
func (s *shadows) lone() (i int, ok bool) {
	lowest := s.lowest()
	for k, level := range s.levels {
		if level > 0 && level != lowest {
			continue
		}
		if ok {
			return 0, false
		}
		i, ok = k, true
	}
	return i, ok
}

// lowest returns the lowest level above 0 that has a record, 0 if none has.
func (s *shadows) lowest() int32 {
	lowest := int32(0)
	for _, level := range s.levels {
		if level > 0 && (lowest == 0 || level < lowest) {
			lowest = level
		}
	}
	return lowest
}

// reset forgets the records.
func (s *shadows) reset() {
	s.records.Reset()
	s.levels = s.levels[:0]
}

// feed gives the records that count to the folder, in merge order: all of level 0,
// and the one above it that shadows the others.
func (s *shadows) feed(f Folder) (err error) {
	lowest := s.lowest()
	for i, level := range s.levels {
		if level > 0 && level != lowest {
			continue
		}
		if err = f.Add(s.records, i); err != nil {
			break
		}
	}
	s.reset()
	return err
}
