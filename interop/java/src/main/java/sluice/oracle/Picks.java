package sluice.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.paimon.compact.CompactUnit;
import org.apache.paimon.data.BinaryRow;
import org.apache.paimon.io.DataFileMeta;
import org.apache.paimon.manifest.FileSource;
import org.apache.paimon.mergetree.LevelSortedRun;
import org.apache.paimon.mergetree.SortedRun;
import org.apache.paimon.mergetree.compact.CompactStrategy;
import org.apache.paimon.mergetree.compact.EarlyFullCompaction;
import org.apache.paimon.mergetree.compact.ForceUpLevel0Compaction;
import org.apache.paimon.mergetree.compact.OffPeakHours;
import org.apache.paimon.mergetree.compact.UniversalCompaction;
import org.apache.paimon.stats.SimpleStats;

import java.io.BufferedReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * oracle picks FILE: what the universal compaction picks for shapes of a bucket. Each line of the file is a strategy
 * and lists of runs that it is asked about one after the other, the answer a list of [runs, output level] or null.
 */
final class Picks {
    /** Files of a run: more than one, so that no pick is of a single file. */
    private static final int FILES = 2;

    private Picks() {}

    static int command(Args args, PrintStream out) throws Exception {
        String file = args.positional(0, "a file of shapes");
        args.done();
        try (BufferedReader in = Files.newBufferedReader(Paths.get(file))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                out.println(Json.text(answer(Json.MAPPER.readTree(line))));
            }
        }
        return 0;
    }

    private static ObjectNode answer(JsonNode shape) {
        CompactStrategy strategy = strategy(shape);
        ObjectNode result = Json.object();
        ArrayNode picks = result.putArray("picks");
        for (JsonNode list : shape.get("picks")) {
            Optional<CompactUnit> unit = strategy.pick(shape.get("levels").asInt(), runs(list));
            if (unit.isPresent()) {
                picks.addArray().add(unit.get().files().size() / FILES).add(unit.get().outputLevel());
            } else {
                picks.addNull();
            }
        }
        return result;
    }

    private static CompactStrategy strategy(JsonNode shape) {
        EarlyFullCompaction early = null;
        if (shape.has("interval") || shape.has("total") || shape.has("updated")) {
            early = new EarlyFullCompaction(number(shape, "interval"), number(shape, "total"), number(shape, "updated"));
        }
        OffPeakHours offPeak = null;
        if (shape.has("offPeakRatio")) {
            int hour = LocalDateTime.now().getHour();
            offPeak = OffPeakHours.create(hour, (hour + 2) % 24, shape.get("offPeakRatio").asInt());
        }
        UniversalCompaction universal = new UniversalCompaction(shape.get("amplification").asInt(),
                shape.get("ratio").asInt(), shape.get("trigger").asInt(), early, offPeak);
        if (!shape.has("force")) {
            return universal;
        }
        int every = shape.get("force").asInt();
        return new ForceUpLevel0Compaction(universal, every == 0 ? null : every);
    }

    private static Long number(JsonNode shape, String name) {
        return shape.has(name) ? shape.get(name).asLong() : null;
    }

    private static List<LevelSortedRun> runs(JsonNode list) {
        List<LevelSortedRun> runs = new ArrayList<>();
        for (JsonNode run : list) {
            int level = run.get(0).asInt();
            long size = run.get(1).asLong();
            List<DataFileMeta> files = new ArrayList<>();
            for (int i = 0; i < FILES; i++) {
                files.add(file(i == 0 ? size - size / FILES * (FILES - 1) : size / FILES, level));
            }
            runs.add(new LevelSortedRun(level, SortedRun.fromSorted(files)));
        }
        return runs;
    }

    private static DataFileMeta file(long size, int level) {
        return DataFileMeta.create("f", size, 1, BinaryRow.EMPTY_ROW, BinaryRow.EMPTY_ROW, SimpleStats.EMPTY_STATS,
                SimpleStats.EMPTY_STATS, 0, 0, 0, level, Collections.emptyList(), 0L, null, FileSource.APPEND, null,
                null, null, null);
    }
}
