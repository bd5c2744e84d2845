import java.io.ByteArrayInputStream;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.net.http.WebSocket;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.IntStream;

/** Java's own client, with the system properties' proxy, trying for HTTP/2 as it does by itself. */
public class Client {
    static final HttpClient client = HttpClient.newBuilder()
            .proxy(ProxySelector.getDefault())
            .followRedirects(HttpClient.Redirect.NORMAL)
            .build();
    // Java 17 takes a kept connection of an http:// request for ws://, and then asks for no tunnel.
    static final HttpClient sockets = HttpClient.newBuilder().proxy(ProxySelector.getDefault()).build();

    public static void main(String[] hosts) throws Exception {
        for (String base : List.of("https://" + hosts[0], "http://" + hosts[1])) {
            same("POST known ü", ask("POST", base + "/echo?known", BodyPublishers.ofString("known ü")).body());
            byte[] long_ = "0123456789".repeat(20_000).getBytes();
            same("PUT " + new String(long_), ask("PUT", base + "/echo?unknown", BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(long_))).body());
            same("{\"landed\":\"redirect\"}\n", ask("GET", base + "/moved", BodyPublishers.noBody()).body());
            same(2_500_000, ask("GET", base + "/large?size=2500000", BodyPublishers.noBody()).body().length());
            same("", ask("HEAD", base + "/echo?head", BodyPublishers.noBody()).body());
            same(404, ask("GET", base + "/status/404", BodyPublishers.noBody()).statusCode());
            same(204, ask("GET", base + "/status/204", BodyPublishers.noBody()).statusCode());
            List<CompletableFuture<HttpResponse<String>>> many = IntStream.range(0, 20)
                    .mapToObj(i -> client.sendAsync(HttpRequest.newBuilder(URI.create(base + "/echo?n=" + i)).build(), BodyHandlers.ofString()))
                    .toList();
            for (var answer : many) {
                same("GET ", answer.get().body());
            }
        }
        talk("wss://" + hosts[0] + "/socket");
        talk("ws://" + hosts[1] + "/socket");
        System.out.println("done");
        System.exit(0); // the client's threads would linger
    }

    static HttpResponse<String> ask(String method, String url, BodyPublisher body) throws Exception {
        return client.send(HttpRequest.newBuilder(URI.create(url)).method(method, body).build(), BodyHandlers.ofString());
    }

    static void talk(String url) throws Exception {
        var echoes = new Echoes();
        WebSocket socket = sockets.newWebSocketBuilder().buildAsync(URI.create(url), echoes).get();
        for (String message : List.of("one", "0123456789".repeat(1000), "three ü")) {
            echoes.next = new CompletableFuture<>();
            socket.sendText(message, true).get();
            same(message, echoes.next.get());
        }
        socket.sendClose(1000, "").get();
        same(1000, echoes.closed.get());
    }

    static class Echoes implements WebSocket.Listener {
        volatile CompletableFuture<String> next;
        final CompletableFuture<Integer> closed = new CompletableFuture<>();
        final StringBuilder text = new StringBuilder();

        @Override
        public CompletionStage<?> onText(WebSocket socket, CharSequence data, boolean last) {
            text.append(data);
            if (last) {
                String whole = text.toString();
                text.setLength(0);
                next.complete(whole);
            }
            socket.request(1);
            return null;
        }

        @Override
        public CompletionStage<?> onClose(WebSocket socket, int code, String reason) {
            closed.complete(code);
            return null;
        }

        @Override
        public void onError(WebSocket socket, Throwable error) {
            next.completeExceptionally(error);
            closed.completeExceptionally(error);
        }
    }

    static void same(Object want, Object got) {
        if (!want.equals(got)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }
}
