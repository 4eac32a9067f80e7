// Package ingest turns records from outside into changes of a table and moves
// them into a writer with an exact position to resume from.
//
// A [Decoder] is a codec: it reads one format (JSON lines, CSV, Debezium JSON)
// and appends changes to a columnar batch, knowing the columns of the table but
// nothing of files or commits. A [Pump] takes a decoder and a [Sink], cuts the
// stream into commits and hands the position of the last record of each commit
// along, so that the position is committed with the rows it covers. After a
// restart the pump is started from the position that the sink's last commit
// holds, and no record is lost or applied twice.
//
// A record that does not fit the table ends the stream with a [RecordError]
// that names the line, the column and what to do; records before it are
// committed, the record itself is not applied in part.
package ingest
