package sluice.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/**
 * oracle serve: many commands in one virtual machine. Each line of standard input is a JSON list of arguments; its
 * output is followed by a line {"exit":CODE} or {"exit":2,"error":"..."}. Ends with its input.
 */
final class Serve {
    private Serve() {}

    static int command(Args args, PrintStream out) throws Exception {
        args.done();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            ObjectNode end = Json.object();
            try {
                JsonNode list = Json.MAPPER.readTree(line);
                String[] argv = new String[list.size()];
                for (int i = 0; i < argv.length; i++) {
                    argv[i] = list.get(i).asText();
                }
                end.put("exit", Main.run(argv, out));
            } catch (Args.Usage e) {
                end.put("exit", 2).put("error", e.getMessage());
            } catch (Throwable e) {
                end.put("exit", 2).put("error", CaseRunner.chain(e));
            }
            out.println(end);
            out.flush();
        }
        return 0;
    }
}
