// Each part prints a line.
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.IO.Compression;
using System.IO.MemoryMappedFiles;
using System.IO.Pipes;
using System.Linq;
using System.Net;
using System.Net.Http;
using System.Net.Sockets;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

class Hello
{
    static void Main()
    {
        var parts = new Dictionary<string, Func<Task<string>>>
        {
            ["linq"] = async () => string.Join(",", Enumerable.Range(1, 10).Where(n => n % 3 == 0).Select(n => n * n)),
            ["tasks"] = async () => (await Task.WhenAll(Enumerable.Range(0, 100).Select(n => Task.Run(() => n)))).Sum().ToString(),
            ["exceptions"] = async () =>
            {
                int caught = 0;
                for (int i = 0; i < 1000; i++)
                {
                    try { ((string)null).Trim(); } catch (NullReferenceException) { caught++; }
                }
                return caught.ToString();
            },
            ["garbage"] = async () =>
            {
                long sum = 0;
                Parallel.For(0, 4, _ => { for (int i = 0; i < 20000; i++) Interlocked.Add(ref sum, new byte[1000].Length); });
                GC.Collect();
                return sum.ToString();
            },
            ["hash"] = async () =>
            {
                using (var sha = SHA256.Create())
                    return BitConverter.ToString(sha.ComputeHash(Encoding.UTF8.GetBytes("mullion"))).Replace("-", "").ToLowerInvariant();
            },
            ["aes"] = async () =>
            {
                using (var aes = Aes.Create())
                {
                    var secret = aes.CreateEncryptor().TransformFinalBlock(Encoding.UTF8.GetBytes("secret"), 0, 6);
                    return Encoding.UTF8.GetString(aes.CreateDecryptor().TransformFinalBlock(secret, 0, secret.Length));
                }
            },
            ["rsa"] = async () =>
            {
                using (var rsa = RSA.Create(2048))
                {
                    var data = Encoding.UTF8.GetBytes("signed");
                    var signature = rsa.SignData(data, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1);
                    return rsa.VerifyData(data, signature, HashAlgorithmName.SHA256, RSASignaturePadding.Pkcs1).ToString();
                }
            },
            ["files"] = async () =>
            {
                string folder = Path.Combine(Path.GetTempPath(), Path.GetRandomFileName()), file = Path.Combine(folder, "file");
                Directory.CreateDirectory(folder);
                var changed = new TaskCompletionSource<string>();
                using (var watcher = new FileSystemWatcher(folder))
                {
                    watcher.Created += (_, e) => changed.TrySetResult(e.Name);
                    watcher.EnableRaisingEvents = true;
                    await File.WriteAllTextAsync(file, "text");
                    await Task.WhenAny(changed.Task, Task.Delay(10000));
                }
                string text = await File.ReadAllTextAsync(file);
                Directory.Delete(folder, true);
                return text + " " + (changed.Task.IsCompleted ? changed.Task.Result : "not seen");
            },
            ["mapped"] = async () =>
            {
                using (var map = MemoryMappedFile.CreateNew("mullion-test", 4096))
                using (var other = MemoryMappedFile.OpenExisting("mullion-test"))
                {
                    using (var view = map.CreateViewAccessor()) view.Write(8, 42);
                    using (var view = other.CreateViewAccessor()) return view.ReadInt32(8).ToString();
                }
            },
            ["gzip"] = async () =>
            {
                var packed = new MemoryStream();
                using (var zip = new GZipStream(packed, CompressionMode.Compress, true)) zip.Write(Encoding.UTF8.GetBytes(new string('x', 100000)), 0, 100000);
                packed.Position = 0;
                using (var zip = new GZipStream(packed, CompressionMode.Decompress)) return new StreamReader(zip).ReadToEnd().Length.ToString();
            },
            ["regex"] = async () => Regex.Match("node win-12 is ready", @"win-(\d+)").Groups[1].Value,
            ["pipe"] = async () =>
            {
                using (var server = new NamedPipeServerStream("mullion-test", PipeDirection.InOut, 1, PipeTransmissionMode.Byte, PipeOptions.Asynchronous))
                using (var client = new NamedPipeClientStream(".", "mullion-test", PipeDirection.InOut, PipeOptions.Asynchronous))
                {
                    await Task.WhenAll(server.WaitForConnectionAsync(), client.ConnectAsync());
                    var buffer = new byte[16];
                    var read = server.ReadAsync(buffer, 0, 16);
                    await client.WriteAsync(Encoding.UTF8.GetBytes("through"), 0, 7);
                    return Encoding.UTF8.GetString(buffer, 0, await read);
                }
            },
            ["tcp"] = async () =>
            {
                var listener = new TcpListener(IPAddress.Loopback, 0);
                listener.Start();
                var accepted = listener.AcceptTcpClientAsync();
                using (var client = new TcpClient())
                {
                    await client.ConnectAsync(IPAddress.Loopback, ((IPEndPoint)listener.LocalEndpoint).Port);
                    using (var server = await accepted) await server.GetStream().WriteAsync(Encoding.UTF8.GetBytes("hello"), 0, 5);
                    return await new StreamReader(client.GetStream()).ReadToEndAsync();
                }
            },
            ["process"] = async () =>
            {
                var start = new ProcessStartInfo("cmd", "/c echo of %OS%& exit 3") { RedirectStandardOutput = true, UseShellExecute = false };
                using (var child = Process.Start(start))
                {
                    string said = await child.StandardOutput.ReadToEndAsync();
                    child.WaitForExit();
                    return said.Trim() + " " + child.ExitCode;
                }
            },
            ["time zone"] = async () => TimeZoneInfo.FindSystemTimeZoneById("W. Europe Standard Time").GetUtcOffset(new DateTime(2026, 7, 1)).ToString(),
        };
        foreach (var part in parts)
        {
            string result;
            try { result = part.Value().Result; } catch (Exception e) { result = e.GetBaseException().ToString(); }
            Console.WriteLine(part.Key + " " + result);
        }
        Console.WriteLine("ready");
        Console.WriteLine("stdin " + Console.ReadLine());
    }
}
