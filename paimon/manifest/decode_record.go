package manifest

func (d *decoder) entry(e *Entry, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toVersion:
			d.version = d.Int()
		case toKind:
			e.Kind = d.kind()
		case toPartition:
			e.Partition = d.Bytes()
		case toBucket:
			e.Bucket = d.Int()
		case toTotalBuckets:
			e.TotalBuckets = d.Int()
		case toFile:
			d.file(&e.File, s.nested)
		}
	}
}

func (d *decoder) file(f *DataFile, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toFileName:
			f.FileName = d.text()
		case toFileSize:
			f.FileSize = d.Long()
		case toRowCount:
			f.RowCount = d.Long()
		case toMinKey:
			f.MinKey = d.Bytes()
		case toMaxKey:
			f.MaxKey = d.Bytes()
		case toKeyStats:
			d.stats(&f.KeyStats, s.nested)
		case toValueStats:
			d.stats(&f.ValueStats, s.nested)
		case toMinSeq:
			f.MinSeq = d.Long()
		case toMaxSeq:
			f.MaxSeq = d.Long()
		case toSchemaID:
			f.SchemaID = d.Long()
		case toLevel:
			f.Level = d.Int()
		case toExtraFiles:
			f.ExtraFiles = d.strings(s, &d.lists[0])
		case toCreationTime:
			f.CreationTime, f.HasCreationTime = d.Long(), true
		case toDeleteRowCount:
			f.DeleteRowCount = d.long()
		case toEmbeddedIndex:
			f.EmbeddedIndex = d.Bytes()
		case toSource:
			f.Source = d.source()
		case toValueStatsCols:
			f.ValueStatsCols, f.HasValueStatsCols = d.strings(s, &d.lists[1]), true
		case toExternalPath:
			path := d.text()
			f.ExternalPath = &path
		case toFirstRowID:
			f.FirstRowID = d.long()
		case toWriteCols:
			f.WriteCols, f.HasWriteCols = d.strings(s, &d.lists[2]), true
		case toWriteColSeqs:
			f.WriteColSeqs = d.numbers(s)
		}
	}
}

func (d *decoder) stats(st *Stats, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toMinValues:
			st.Min = d.Bytes()
		case toMaxValues:
			st.Max = d.Bytes()
		case toNullCounts:
			st.NullCounts = d.nullCounts(s)
		}
	}
}

func (d *decoder) meta(m *Meta, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toVersion:
			d.version = d.Int()
		case toFileName:
			m.FileName = d.text()
		case toFileSize:
			m.FileSize = d.Long()
		case toNumAdded:
			m.NumAdded = d.Long()
		case toNumDeleted:
			m.NumDeleted = d.Long()
		case toPartitionStats:
			d.stats(&m.PartitionStats, s.nested)
		case toSchemaID:
			m.SchemaID = d.Long()
		case toMinBucket:
			m.MinBucket = d.int()
		case toMaxBucket:
			m.MaxBucket = d.int()
		case toMinLevel:
			m.MinLevel = d.int()
		case toMaxLevel:
			m.MaxLevel = d.int()
		case toMinRowID:
			m.MinRowID = d.long()
		case toMaxRowID:
			m.MaxRowID = d.long()
		}
	}
}

func (d *decoder) index(e *IndexEntry, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toVersion:
			d.version = d.Int()
		case toKind:
			e.Kind = d.kind()
		case toPartition:
			e.Partition = d.Bytes()
		case toBucket:
			e.Bucket = d.Int()
		case toIndexType:
			e.Type = d.text()
		case toFileName:
			e.FileName = d.text()
		case toFileSize:
			e.FileSize = d.Long()
		case toRowCount:
			e.RowCount = d.Long()
		case toDVRanges:
			e.DVRanges = d.ranges(s)
		case toExternalPath:
			path := d.text()
			e.ExternalPath = &path
		case toGlobal:
			e.Global = &GlobalIndex{}
			d.global(e.Global, s.nested)
		}
	}
}

func (d *decoder) ranges(list *step) []DVRange {
	ranges := []DVRange{}
	for c := d.Count(); c > 0 && d.Err() == nil; c = d.Count() {
		for range c {
			if list.itemNull >= 0 && d.Branch(2) == int(list.itemNull) {
				continue
			}
			var r DVRange
			d.dvRange(&r, list.nested)
			if d.Err() != nil {
				return nil
			}
			ranges = append(ranges, r)
		}
	}
	return ranges
}

func (d *decoder) dvRange(r *DVRange, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toDVFile:
			r.DataFile = d.text()
		case toDVOffset:
			r.Offset = d.Int()
		case toDVLength:
			r.Length = d.Int()
		case toDVCardinality:
			r.Cardinality = d.long()
		}
	}
}

func (d *decoder) global(g *GlobalIndex, steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.to == toNothing {
			d.Skip(s.skip)
			continue
		}
		if !d.present(s) {
			continue
		}
		switch s.to {
		case toRangeStart:
			g.RowRangeStart = d.Long()
		case toRangeEnd:
			g.RowRangeEnd = d.Long()
		case toFieldID:
			g.FieldID = d.Int()
		case toExtraFieldIDs:
			g.ExtraFieldIDs = []int32{}
			for _, id := range d.numbers(s) {
				if id != int64(int32(id)) {
					d.fail(s.name, "is out of range")
				}
				g.ExtraFieldIDs = append(g.ExtraFieldIDs, int32(id))
			}
		case toIndexMeta:
			g.Meta = d.Bytes()
		case toSourceMeta:
			g.SourceMeta = d.Bytes()
		}
	}
}
