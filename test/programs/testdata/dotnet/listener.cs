// HttpListener, and a client for it: with a port it tries what programs do with it, with a second word it serves until it is told to end.
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

class Listener
{
    static string root;

    static void Main(string[] args)
    {
        root = $"http://127.0.0.1:{args[0]}/";
        var listener = new HttpListener();
        listener.Prefixes.Add($"http://+:{args[0]}/");
        listener.Start();
        Task serving = Serve(listener);
        if (args.Length > 1)
        {
            Console.WriteLine("serving");
            serving.Wait();
        }
        Try(listener, int.Parse(args[0])).Wait();
    }

    static async Task Serve(HttpListener listener)
    {
        while (true)
        {
            HttpListenerContext context;
            try { context = await listener.GetContextAsync(); }
            catch (HttpListenerException) { return; }
            catch (ObjectDisposedException) { return; }
            Task ignored = Task.Run(() => Answer(context));
        }
    }

    static async Task Answer(HttpListenerContext context)
    {
        HttpListenerRequest request = context.Request;
        HttpListenerResponse response = context.Response;
        switch (request.Url.AbsolutePath)
        {
            case "/echo":
                response.ContentType = request.ContentType;
                var body = new MemoryStream(); // the client does not read before it has written
                await request.InputStream.CopyToAsync(body);
                response.ContentLength64 = body.Length;
                body.Position = 0;
                await body.CopyToAsync(response.OutputStream);
                break;
            case "/chunked":
                response.SendChunked = true;
                for (int i = 0; i < 5; i++)
                {
                    byte[] line = Encoding.ASCII.GetBytes($"line {i}\n");
                    await response.OutputStream.WriteAsync(line, 0, line.Length);
                    await response.OutputStream.FlushAsync();
                }
                break;
            case "/cookies":
                response.SetCookie(new Cookie("a", "1"));
                response.Headers.Add("X-Seen", string.Join(",", request.Cookies.Cast<Cookie>().Select(c => c.Name + c.Value)));
                response.StatusCode = 418;
                response.StatusDescription = "A teapot";
                break;
            case "/redirect": response.Redirect(root + "hello"); break;
            case "/abort": response.Abort(); return;
            default:
                byte[] text = Encoding.UTF8.GetBytes(
                    $"{request.HttpMethod} {request.Url.PathAndQuery} {request.UserHostName} {request.UserAgent} {request.IsLocal} {request.ProtocolVersion}");
                if (request.HttpMethod != "HEAD")
                {
                    response.Close(text, false);
                    return;
                }
                response.ContentLength64 = text.Length;
                break;
        }
        response.Close();
    }

    static async Task Try(HttpListener listener, int port)
    {
        var client = new HttpClient(new HttpClientHandler { UseProxy = false, UseCookies = false, AllowAutoRedirect = false });
        client.DefaultRequestHeaders.Add("User-Agent", "test");
        Console.WriteLine((await client.GetStringAsync(root + "a/b?c=d%20e")).Replace(port.ToString(), "PORT"));
        Console.WriteLine("echo " + await Text(client.PostAsync(root + "echo", new StringContent("hello"))));

        byte[] large = new byte[10_000_000];
        new Random(1).NextBytes(large);
        byte[] back = await (await client.PostAsync(root + "echo", new ByteArrayContent(large))).Content.ReadAsByteArrayAsync();
        Console.WriteLine("large " + back.SequenceEqual(large));
        var unsized = new HttpRequestMessage(HttpMethod.Post, root + "echo") { Content = new ByteArrayContent(large, 0, 300_000) };
        unsized.Headers.TransferEncodingChunked = true;
        back = await (await client.SendAsync(unsized)).Content.ReadAsByteArrayAsync();
        Console.WriteLine($"chunked request {back.SequenceEqual(large.Take(300_000))} {back.Length}");
        var asking = new HttpRequestMessage(HttpMethod.Post, root + "echo") { Content = new StringContent("continued") };
        asking.Headers.ExpectContinue = true;
        Console.WriteLine("expect " + await Text(client.SendAsync(asking)));

        HttpResponseMessage streamed = await client.GetAsync(root + "chunked");
        Console.WriteLine($"chunked {streamed.Headers.TransferEncodingChunked} {(await streamed.Content.ReadAsStringAsync()).Split('\n').Length}");
        var cookies = new HttpRequestMessage(HttpMethod.Get, root + "cookies");
        cookies.Headers.Add("Cookie", "x=1; y=2");
        HttpResponseMessage teapot = await client.SendAsync(cookies);
        Console.WriteLine($"{(int)teapot.StatusCode} {teapot.ReasonPhrase} {teapot.Headers.GetValues("Set-Cookie").First()} " +
                          $"{teapot.Headers.GetValues("X-Seen").First()} {teapot.Headers.Server}");
        Console.WriteLine("head " + (await client.SendAsync(new HttpRequestMessage(HttpMethod.Head, root))).Content.Headers.ContentLength);
        Console.WriteLine("redirect " + (int)(await client.GetAsync(root + "redirect")).StatusCode);

        Console.WriteLine("one connection " + Raw(port, "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"));
        Console.WriteLine("http 1.0 " + Raw(port, "GET /1 HTTP/1.0\r\n\r\n"));
        Console.WriteLine("malformed " + Raw(port, "GET /\r\n\r\n"));

        Task<string>[] many = Enumerable.Range(0, 100).Select(i => Text(client.PostAsync(root + "echo", new StringContent("number " + i)))).ToArray();
        await Task.WhenAll(many);
        Console.WriteLine("parallel " + many.Select((t, i) => t.Result == "number " + i).Count(same => same));

        try { await client.GetAsync(root + "abort"); Console.WriteLine("abort: an answer"); }
        catch (HttpRequestException) { Console.WriteLine("abort"); }

        listener.Prefixes.Add($"http://127.0.0.1:{port}/sub/");
        Console.WriteLine("second prefix " + await Text(client.GetAsync(root + "echo")));
        Task<HttpListenerContext> waiting = listener.GetContextAsync();
        listener.Stop();
        try { await waiting; Console.WriteLine("stop: a request"); }
        catch (Exception e) when (e is HttpListenerException || e is ObjectDisposedException) { Console.WriteLine("stop"); }
        try { await client.GetAsync(root); Console.WriteLine("stopped: an answer"); }
        catch (HttpRequestException) { Console.WriteLine("stopped"); }
        listener = new HttpListener(); // .NET Core 2.2's own cannot be started again
        listener.Prefixes.Add($"http://localhost:{port}/");
        listener.Prefixes.Add($"http://*:{port}/star/");
        listener.Start();
        Task serving = Serve(listener);
        root = root.Replace("127.0.0.1", "localhost");
        Console.WriteLine("again " + (int)(await client.GetAsync(root)).StatusCode);
        Console.WriteLine("other host " + Raw(port, "GET / HTTP/1.1\r\nHost: other\r\n\r\n") + " " + Raw(port, "GET /none HTTP/1.1\r\nHost: other\r\n\r\n") +
                          " " + Raw(port, "GET /star/x HTTP/1.1\r\nHost: other\r\nConnection: close\r\n\r\n"));

        var other = new HttpListener();
        other.Prefixes.Add($"http://localhost:{port}/");
        try { other.Start(); Console.WriteLine("twice: started"); }
        catch (HttpListenerException e) { Console.WriteLine("twice " + e.ErrorCode); }
        var beside = new HttpListener();
        beside.Prefixes.Add($"http://+:{port}/beside/");
        beside.Start();
        serving = Serve(beside);
        Console.WriteLine("two listeners " + (int)(await client.GetAsync(root + "beside/x")).StatusCode);
        listener.Abort();
        Console.WriteLine("one gone " + (int)(await client.GetAsync(root + "beside/x")).StatusCode + " " + (int)(await client.GetAsync(root)).StatusCode);
        Console.WriteLine("aborted " + listener.IsListening);
    }

    static async Task<string> Text(Task<HttpResponseMessage> response) => await (await response).Content.ReadAsStringAsync();

    // The status lines of what comes back until the connection is closed.
    static string Raw(int port, string request)
    {
        using (var socket = new TcpClient("127.0.0.1", port))
        {
            byte[] bytes = Encoding.ASCII.GetBytes(request);
            socket.GetStream().Write(bytes, 0, bytes.Length);
            string text = new StreamReader(socket.GetStream(), Encoding.ASCII).ReadToEnd();
            return string.Join(",", text.Split('\n').Where(l => l.Contains("HTTP/1.1 ")).Select(l => l.Substring(l.IndexOf("HTTP/1.1 ") + 9, 3)));
        }
    }
}
