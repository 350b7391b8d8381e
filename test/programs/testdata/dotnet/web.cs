// A server: HTTP at the first port and, if there is a second, HTTPS at that one.
using System;
using System.Diagnostics;
using System.IO;
using System.Net;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;

class Web
{
    static void Main(string[] ports)
    {
        new WebHostBuilder()
            .UseKestrel(kestrel =>
            {
                kestrel.Listen(IPAddress.Loopback, int.Parse(ports[0]));
                if (ports.Length > 1) kestrel.Listen(IPAddress.Loopback, int.Parse(ports[1]), listen => listen.UseHttps("server.pfx", "test"));
            })
            .Configure(app => app.Run(Answer))
            .Build()
            .Run();
        Console.WriteLine("ended");
    }

    static async Task Answer(HttpContext context)
    {
        string body = await new StreamReader(context.Request.Body).ReadToEndAsync();
        switch (context.Request.Path)
        {
            case "/command":
                using (var child = Process.Start(new ProcessStartInfo("cmd", "/c echo of %OS%") { RedirectStandardOutput = true }))
                    await context.Response.WriteAsync(await child.StandardOutput.ReadToEndAsync());
                break;
            default:
                await context.Response.WriteAsync($"{context.Request.Scheme} {context.Request.Method} {context.Request.Path} {body.Length}");
                break;
        }
    }
}
