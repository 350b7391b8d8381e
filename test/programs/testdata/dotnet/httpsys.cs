// ASP.NET Core on http.sys: serves at the first port until it is told to end.
using System;
using System.IO;
using System.Threading.Tasks;
using Microsoft.AspNetCore.Builder;
using Microsoft.AspNetCore.Hosting;
using Microsoft.AspNetCore.Http;
using Microsoft.AspNetCore.Http.Features;

class HttpSys
{
    static volatile int gone;

    static void Main(string[] ports)
    {
        new WebHostBuilder()
            .UseHttpSys(options =>
            {
                options.UrlPrefixes.Add($"http://+:{ports[0]}/");
                options.UrlPrefixes.Add($"http://+:{ports[0]}/base/");
                options.MaxRequestBodySize = 1_000_000;
            })
            .UseSetting(WebHostDefaults.ServerUrlsKey, "")
            .Configure(app => app.Run(Answer))
            .Build()
            .Run();
    }

    static async Task Answer(HttpContext context)
    {
        HttpRequest request = context.Request;
        HttpResponse response = context.Response;
        switch (request.Path)
        {
            case "/body":
                string body = await new StreamReader(request.Body).ReadToEndAsync();
                await response.WriteAsync($"{request.Method} {body.Length}");
                break;
            case "/stream":
                for (int i = 0; i < 3; i++)
                {
                    await response.WriteAsync($"part {i},");
                    await response.Body.FlushAsync();
                }
                break;
            case "/file":
                File.WriteAllText("sent.txt", "from a file");
                await context.Features.Get<IHttpSendFileFeature>().SendFileAsync(Path.GetFullPath("sent.txt"), 0, null, context.RequestAborted);
                break;
            case "/cookies":
                response.Cookies.Append("a", "1");
                response.Cookies.Append("b", "2");
                await response.WriteAsync(request.Cookies["x"] ?? "none");
                break;
            case "/upgrade":
                Stream raw = await context.Features.Get<IHttpUpgradeFeature>().UpgradeAsync();
                byte[] buffer = new byte[16];
                for (int n; (n = await raw.ReadAsync(buffer, 0, buffer.Length)) > 0;)
                    await raw.WriteAsync(buffer, 0, n);
                break;
            case "/wait": // for the client to go
                var end = new TaskCompletionSource<bool>();
                context.RequestAborted.Register(() => { gone++; end.SetResult(true); });
                await end.Task;
                break;
            case "/gone":
                for (int i = 0; i < 100 && gone == 0; i++) await Task.Delay(100);
                await response.WriteAsync($"gone {gone}");
                break;
            default:
                await response.WriteAsync($"{request.Scheme} {request.Method} {request.PathBase} {request.Path}{request.QueryString} " +
                                          $"{request.Protocol} {context.Connection.RemoteIpAddress}");
                break;
        }
    }
}
