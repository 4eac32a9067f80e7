package paimon

import (
	"strings"

	"sluice/paimon/rowdata"
)

// checkFormats: file formats exist and can hold the types of the columns.
func (s *Schema) checkFormats() error {
	formats := map[string]string{} // option to format
	for _, key := range []string{OptFileFormat, OptChangelogFileFormat} {
		if key == OptFileFormat || s.Options.Has(key) {
			formats[key] = s.Options.Text(key)
		}
	}
	perLevel, err := s.Options.Map(OptFileFormatPerLevel)
	if err != nil {
		return err
	}
	for level, format := range perLevel {
		formats[OptFileFormatPerLevel+"."+level] = format
	}
	for _, key := range sortedKeys(formats) {
		format := strings.ToLower(formats[key])
		switch format {
		case "parquet", "orc", "avro":
		default:
			return refuseOption(key, "Could not find any format factory for identifier '%s'; want parquet, avro or orc.", formats[key])
		}
		for i := range s.Fields {
			if err := checkFormatType(key, format, s.Fields[i].Name, s.Fields[i].Type); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkFormatType: files of the format can hold values of the type.
func checkFormatType(key, format, column string, t *rowdata.Type) error {
	if t == nil {
		return nil
	}
	switch {
	case format == "avro" && (t.Root == rowdata.Timestamp || t.Root == rowdata.TimestampLTZ) && t.Precision > 6:
		return refuseOption(key, "Column %s: Avro does not support TIMESTAMP type with precision: %d, it only supports precision less than 6.", column, t.Precision)
	case format == "avro" && t.Root == rowdata.Time && t.Precision > 3:
		return refuseOption(key, "Column %s: Avro does not support TIME type with precision: %d, it only supports precision less than 3.", column, t.Precision)
	case format != "parquet" && t.Root == rowdata.Variant, format == "orc" && t.Root == rowdata.Vec:
		return refuseOption(key, "Column %s: Unsupported type: %s in %s files.", column, t, format)
	}
	for i := range t.Fields {
		if err := checkFormatType(key, format, column, t.Fields[i].Type); err != nil {
			return err
		}
	}
	if err := checkFormatType(key, format, column, t.Key); err != nil {
		return err
	}
	return checkFormatType(key, format, column, t.Elem)
}
