package pqt

// The structs of Parquet metadata, as far as this package uses them. Field ids
// and enumerations are those of parquet.thrift.

type physicalType int32

const (
	physBoolean physicalType = iota
	physInt32
	physInt64
	physInt96
	physFloat
	physDouble
	physByteArray
	physFixed
)

var physicalText = [...]string{"BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BINARY", "FIXED_LEN_BYTE_ARRAY"}

func (p physicalType) String() string {
	if p >= 0 && int(p) < len(physicalText) {
		return physicalText[p]
	}
	return "group"
}

// width returns the bytes of a value in PLAIN encoding, 0 if they vary.
func (p physicalType) width() int {
	switch p {
	case physInt32, physFloat:
		return 4
	case physInt64, physDouble:
		return 8
	case physInt96:
		return 12
	}
	return 0
}

const noPhysical physicalType = -1 // of a group

type encoding int32

const (
	encPlain           encoding = 0
	encPlainDictionary encoding = 2 // as encRLEDictionary in data pages, as encPlain in dictionary pages
	encRLE             encoding = 3
	encBitPacked       encoding = 4
	encDeltaBinary     encoding = 5
	encDeltaLength     encoding = 6
	encDeltaBytes      encoding = 7
	encRLEDictionary   encoding = 8
	encByteStreamSplit encoding = 9
)

type codec int32

const (
	codecNone   codec = 0
	codecSnappy codec = 1
	codecGzip   codec = 2
	codecBrotli codec = 4
	codecLZ4    codec = 5 // framed as Hadoop does
	codecZstd   codec = 6
	codecLZ4Raw codec = 7
)

type repetition int32

const (
	required repetition = 0
	optional repetition = 1
	repeated repetition = 2
)

// Kinds of logical types: the field ids of the union.
const (
	logicalNone      = 0
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInt       = 10
)

// Converted types: the older form of logical types.
const (
	convertedNone            = -1
	convertedUTF8            = 0
	convertedMap             = 1
	convertedList            = 3
	convertedDecimal         = 5
	convertedDate            = 6
	convertedTimeMillis      = 7
	convertedTimeMicros      = 8
	convertedTimestampMillis = 9
	convertedTimestampMicros = 10
	convertedInt8            = 15
	convertedInt16           = 16
)

// Units of times and timestamps: the field ids of the union.
const (
	unitNone   = 0
	unitMillis = 1
	unitMicros = 2
	unitNanos  = 3
)

type logicalType struct {
	kind             int8
	unit             int8 // time, timestamp
	utc              bool
	bits             int8 // integer
	signed           bool
	scale, precision int32 // decimal
}

type schemaElement struct {
	name        string
	phys        physicalType
	typeLength  int32
	repetition  repetition
	numChildren int32
	converted   int32
	scale       int32
	precision   int32
	fieldID     int32
	hasFieldID  bool
	logical     logicalType
}

type statistics struct {
	min, max       []byte // nil: not known
	nulls          int64  // -1: not known
	minExact       bool
	maxExact       bool
	hasBoundsExact bool
}

type pageType int32

const (
	pageData       pageType = 0
	pageIndex      pageType = 1
	pageDictionary pageType = 2
	pageDataV2     pageType = 3
)

type pageHeader struct {
	kind         pageType
	uncompressed int32
	compressed   int32
	crc          int32
	hasCRC       bool

	numValues int32
	encoding  encoding
	defEnc    encoding // version 1
	repEnc    encoding

	numNulls     int32 // version 2
	numRows      int32
	defBytes     int32
	repBytes     int32
	isCompressed bool
}

type encodingStats struct {
	page     pageType
	encoding encoding
	count    int32
}

type columnChunk struct {
	phys              physicalType
	encodings         []encoding
	path              []string // writing only
	codec             codec
	numValues         int64
	totalUncompressed int64
	totalCompressed   int64
	dataPageOffset    int64
	dictPageOffset    int64 // 0: none
	stats             statistics
	encodingStats     []encodingStats
	offsetIndexOffset int64 // 0: none
	offsetIndexLength int32
	columnIndexOffset int64 // 0: none
	columnIndexLength int32
}

type rowGroup struct {
	columns         []columnChunk
	totalByteSize   int64
	totalCompressed int64
	numRows         int64
	fileOffset      int64
	ordinal         int16
}

type fileMeta struct {
	schema    []schemaElement
	numRows   int64
	rowGroups []rowGroup
	createdBy string
}

type pageLocation struct {
	offset   int64
	size     int32
	firstRow int64
}

const (
	boundsUnordered  = 0
	boundsAscending  = 1
	boundsDescending = 2
)

type columnIndex struct {
	nullPages []bool
	mins      [][]byte
	maxs      [][]byte
	order     int32
	nulls     []int64
}
