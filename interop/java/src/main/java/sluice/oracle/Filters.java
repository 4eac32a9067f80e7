package sluice.oracle;

import com.fasterxml.jackson.databind.node.ArrayNode;
import org.apache.paimon.data.InternalRow;
import org.apache.paimon.disk.IOManager;
import org.apache.paimon.predicate.Predicate;
import org.apache.paimon.predicate.PredicateBuilder;
import org.apache.paimon.reader.RecordReaderIterator;
import org.apache.paimon.table.FileStoreTable;
import org.apache.paimon.table.source.ReadBuilder;
import org.apache.paimon.table.source.Split;
import org.apache.paimon.table.source.TableRead;
import org.apache.paimon.types.RowType;

import java.util.ArrayList;
import java.util.List;

/** Batch reads with one comparison, which Paimon pushes to manifests, files, row groups and pages. */
final class Filters {
    private Filters() {}

    /** "column = value", also with <, <=, >, >=; the value is JSON as in a row. "column is null", "column is not null". */
    static Predicate parse(String text, RowType type) throws Exception {
        String[] words = text.trim().split("\\s+", 3);
        int column = type.getFieldNames().indexOf(words[0]);
        if (column < 0 || words.length < 3) {
            throw new Args.Usage("--where wants 'COLUMN OP VALUE', not '" + text + "'");
        }
        PredicateBuilder b = new PredicateBuilder(type);
        if (words[1].equalsIgnoreCase("is")) {
            return words[2].equalsIgnoreCase("null") ? b.isNull(column) : b.isNotNull(column);
        }
        Object value = Values.fromJson(Json.MAPPER.readTree(words[2]), type.getTypeAt(column));
        switch (words[1]) {
            case "=":
                return b.equal(column, value);
            case "<":
                return b.lessThan(column, value);
            case "<=":
                return b.lessOrEqual(column, value);
            case ">":
                return b.greaterThan(column, value);
            case ">=":
                return b.greaterOrEqual(column, value);
            default:
                throw new Args.Usage("unknown comparison " + words[1]);
        }
    }

    static List<ArrayNode> sortedRows(FileStoreTable table, String where, IOManager io) throws Exception {
        RowType type = table.rowType();
        ReadBuilder b = table.newReadBuilder().withFilter(parse(where, type));
        TableRead read = b.newRead().executeFilter().withIOManager(io);
        List<ArrayNode> out = new ArrayList<>();
        for (Split split : b.newScan().plan().splits()) {
            try (RecordReaderIterator<InternalRow> rows = new RecordReaderIterator<>(read.createReader(split))) {
                while (rows.hasNext()) {
                    out.add(Values.row(rows.next(), type));
                }
            }
        }
        out.sort((x, y) -> x.toString().compareTo(y.toString()));
        return out;
    }
}
