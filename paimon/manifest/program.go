package manifest

import (
	"fmt"
	"sync"

	"sluice/paimon/internal/ocf"
)

// target is a field of our structs that a field of a file goes to.
type target uint8

const (
	toNothing target = iota // unknown field: skipped
	toVersion
	toKind
	toPartition
	toBucket
	toTotalBuckets
	toFile
	toFileName
	toFileSize
	toRowCount
	toMinKey
	toMaxKey
	toKeyStats
	toValueStats
	toMinSeq
	toMaxSeq
	toSchemaID
	toLevel
	toExtraFiles
	toCreationTime
	toDeleteRowCount
	toEmbeddedIndex
	toSource
	toValueStatsCols
	toExternalPath
	toFirstRowID
	toWriteCols
	toWriteColSeqs
	toMinValues
	toMaxValues
	toNullCounts
	toNumAdded
	toNumDeleted
	toPartitionStats
	toMinBucket
	toMaxBucket
	toMinLevel
	toMaxLevel
	toMinRowID
	toMaxRowID
	toIndexType
	toDVRanges
	toDVFile
	toDVOffset
	toDVLength
	toDVCardinality
	toGlobal
	toRangeStart
	toRangeEnd
	toFieldID
	toExtraFieldIDs
	toIndexMeta
	toSourceMeta
)

// form is what the value of a field must be in the file.
type form uint8

const (
	formNumber form = iota // int or long
	formText               // string or bytes
	formStrings
	formNumbers
	formCounts // array of numbers, each of which may be null
	formRecord
	formRecords // array of records, each of which may be null
)

// known is a field that this package understands.
type known struct {
	to       target
	form     form
	required bool // the file must have it, and it must not be null
	fields   map[string]known
}

func need(to target, f form) known { return known{to: to, form: f, required: true} }
func may(to target, f form) known  { return known{to: to, form: f} }

func record(to target, fields map[string]known) known {
	return known{to: to, form: formRecord, required: true, fields: fields}
}

// recordKind is one of the three kinds of files.
type recordKind uint8

const (
	entryRecord recordKind = iota
	metaRecord
	indexRecord
)

// fieldsOf returns the fields of a kind of file (format sections 5.2, 5.3, 11.1).
func fieldsOf(kind recordKind) map[string]known {
	stats := map[string]known{
		"_MIN_VALUES": need(toMinValues, formText), "_MAX_VALUES": need(toMaxValues, formText), "_NULL_COUNTS": may(toNullCounts, formCounts),
	}
	switch kind {
	case metaRecord:
		return map[string]known{
			"_VERSION": need(toVersion, formNumber), "_FILE_NAME": need(toFileName, formText), "_FILE_SIZE": need(toFileSize, formNumber),
			"_NUM_ADDED_FILES": need(toNumAdded, formNumber), "_NUM_DELETED_FILES": need(toNumDeleted, formNumber),
			"_PARTITION_STATS": record(toPartitionStats, stats), "_SCHEMA_ID": need(toSchemaID, formNumber),
			"_MIN_BUCKET": may(toMinBucket, formNumber), "_MAX_BUCKET": may(toMaxBucket, formNumber),
			"_MIN_LEVEL": may(toMinLevel, formNumber), "_MAX_LEVEL": may(toMaxLevel, formNumber),
			"_MIN_ROW_ID": may(toMinRowID, formNumber), "_MAX_ROW_ID": may(toMaxRowID, formNumber),
		}
	case indexRecord:
		return map[string]known{
			"_VERSION": need(toVersion, formNumber), "_KIND": need(toKind, formNumber), "_PARTITION": need(toPartition, formText),
			"_BUCKET": need(toBucket, formNumber), "_INDEX_TYPE": need(toIndexType, formText), "_FILE_NAME": need(toFileName, formText),
			"_FILE_SIZE": need(toFileSize, formNumber), "_ROW_COUNT": need(toRowCount, formNumber),
			"_DELETIONS_VECTORS_RANGES": {to: toDVRanges, form: formRecords, fields: map[string]known{
				"f0": need(toDVFile, formText), "f1": need(toDVOffset, formNumber), "f2": need(toDVLength, formNumber),
				"_CARDINALITY": may(toDVCardinality, formNumber),
			}},
			"_EXTERNAL_PATH": may(toExternalPath, formText),
			"_GLOBAL_INDEX": {to: toGlobal, form: formRecord, fields: map[string]known{
				"_ROW_RANGE_START": need(toRangeStart, formNumber), "_ROW_RANGE_END": need(toRangeEnd, formNumber),
				"_INDEX_FIELD_ID": need(toFieldID, formNumber), "_EXTRA_FIELD_IDS": may(toExtraFieldIDs, formNumbers),
				"_INDEX_META": may(toIndexMeta, formText), "_SOURCE_META": may(toSourceMeta, formText),
			}},
		}
	}
	return map[string]known{
		"_VERSION": need(toVersion, formNumber), "_KIND": need(toKind, formNumber), "_PARTITION": need(toPartition, formText),
		"_BUCKET": need(toBucket, formNumber), "_TOTAL_BUCKETS": need(toTotalBuckets, formNumber),
		"_FILE": record(toFile, map[string]known{
			"_FILE_NAME": need(toFileName, formText), "_FILE_SIZE": need(toFileSize, formNumber), "_ROW_COUNT": need(toRowCount, formNumber),
			"_MIN_KEY": need(toMinKey, formText), "_MAX_KEY": need(toMaxKey, formText),
			"_KEY_STATS": record(toKeyStats, stats), "_VALUE_STATS": record(toValueStats, stats),
			"_MIN_SEQUENCE_NUMBER": need(toMinSeq, formNumber), "_MAX_SEQUENCE_NUMBER": need(toMaxSeq, formNumber),
			"_SCHEMA_ID": need(toSchemaID, formNumber), "_LEVEL": need(toLevel, formNumber), "_EXTRA_FILES": may(toExtraFiles, formStrings),
			"_CREATION_TIME": may(toCreationTime, formNumber), "_DELETE_ROW_COUNT": may(toDeleteRowCount, formNumber),
			"_EMBEDDED_FILE_INDEX": may(toEmbeddedIndex, formText), "_FILE_SOURCE": may(toSource, formNumber),
			"_VALUE_STATS_COLS": may(toValueStatsCols, formStrings), "_EXTERNAL_PATH": may(toExternalPath, formText),
			"_FIRST_ROW_ID": may(toFirstRowID, formNumber), "_WRITE_COLS": may(toWriteCols, formStrings),
			"_WRITE_COLS_SEQUENCES": may(toWriteColSeqs, formNumbers),
		}),
	}
}

// step is a field of a file in file order: what to do with its bytes.
type step struct {
	to       target
	required bool
	null     int8 // branch of null in the file's union; -1: no union
	itemNull int8 // the same for the elements of an array
	name     string
	skip     *ocf.Schema // of an unknown field
	nested   []step
}

// program is how to decode the records of files with one schema.
type program struct {
	null  int8 // the record itself may be in a union (versions up to 0.8)
	steps []step
}

// compile follows the schema that a file was written with.
func compile(kind recordKind, s *ocf.Schema) (*program, error) {
	value, null := s.Optional()
	if value.Kind != ocf.Record {
		return nil, &FieldError{Field: "(top level)", Reason: "is " + value.Kind.String() + ", not a record"}
	}
	steps, err := compileRecord(value, fieldsOf(kind))
	return &program{null: int8(null), steps: steps}, err
}

func compileRecord(s *ocf.Schema, fields map[string]known) ([]step, error) {
	steps := make([]step, 0, len(s.Fields))
	for i := range s.Fields {
		f := &s.Fields[i]
		k, ok := fields[f.Name]
		if !ok {
			steps = append(steps, step{to: toNothing, null: -1, name: f.Name, skip: f.Type})
			continue
		}
		st, err := compileField(f, k)
		if err != nil {
			return nil, err
		}
		steps = append(steps, st)
	}
	for name, k := range fields {
		if k.required && s.Field(name) == nil {
			return nil, &FieldError{Field: name, Reason: "is missing"}
		}
	}
	return steps, nil
}

func compileField(f *ocf.Field, k known) (step, error) {
	value, null := f.Type.Optional()
	st := step{to: k.to, required: k.required, null: int8(null), itemNull: -1, name: f.Name}
	wrong := func() (step, error) {
		return st, &FieldError{Field: f.Name, Reason: "has the unexpected type " + value.Kind.String()}
	}
	item := value
	switch k.form {
	case formStrings, formNumbers, formCounts, formRecords:
		if value.Kind != ocf.Array {
			return wrong()
		}
		var itemNull int
		item, itemNull = value.Elem.Optional()
		st.itemNull = int8(itemNull)
	}
	ok := false
	switch k.form {
	case formNumber, formNumbers, formCounts:
		ok = item.Kind == ocf.Int || item.Kind == ocf.Long
	case formText, formStrings:
		ok = item.Kind == ocf.String || item.Kind == ocf.Bytes
	case formRecord, formRecords:
		ok = item.Kind == ocf.Record
	}
	if !ok {
		return wrong()
	}
	var err error
	if item.Kind == ocf.Record {
		if st.nested, err = compileRecord(item, k.fields); err != nil {
			err = fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return st, err
}

// programsMax bounds how many schemas are remembered: there are as many as there
// are versions of writers.
const programsMax = 64

// programs remembers compiled schemas, a pure function of their text: parsing
// one takes longer than decoding a small manifest.
var programs struct {
	sync.Mutex
	compiled [3]map[string]*program
}

func programFor(kind recordKind, schema []byte) (*program, error) {
	programs.Lock()
	p := programs.compiled[kind][string(schema)]
	programs.Unlock()
	if p != nil {
		return p, nil
	}
	s, err := ocf.ParseSchema(schema)
	if err != nil {
		return nil, err
	}
	if p, err = compile(kind, s); err != nil {
		return nil, err
	}
	programs.Lock()
	defer programs.Unlock()
	if len(programs.compiled[kind]) >= programsMax || programs.compiled[kind] == nil {
		programs.compiled[kind] = map[string]*program{}
	}
	programs.compiled[kind][string(schema)] = p
	return p, nil
}
