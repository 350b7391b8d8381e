# https://learn.microsoft.com/en-us/dotnet/api/system.xml.xmldocument
[xml]$x = '<?xml version="1.0"?><a xmlns:q="u"><b c="1">t</b><b c="2"/><d>only</d><q:e f="z"><!-- hi --></q:e></a>'
$x.a.b[0].c; $x.a.b.Count; $x.a.b[0].'#text'; $x.SelectNodes('//b').Count; $x.a.b | Where-Object c -eq 2 | ForEach-Object c; $x.a.d; $x.DocumentElement.Name
$x.SelectSingleNode("//b[@c='2']/@c").Value; $x.a.d = 'new'; $x.a.b[0].SetAttribute('n', 'v'); $n = $x.CreateElement('z'); $n.InnerText = 'q<'
[void]$x.a.AppendChild($n); $x.OuterXml; $x.a.b[0]
$e = $x.a.e; $e.LocalName; $e.Prefix; $e.NamespaceURI; $e.NodeType; $e.ParentNode.Name; $e.OwnerDocument.NodeType; $e.HasChildNodes; $e.HasAttributes; $e.IsEmpty
$e.FirstChild.Value; $e.LastChild.NodeType; $e.PreviousSibling.Name; $e.NextSibling.Name; $e.InnerXml; $e.GetAttribute('f'); $e.HasAttribute('g'); $e.GetAttributeNode('f').Value
$e.InnerXml = '<k/>'; $e.ChildNodes.Count; $e.RemoveAttribute('f'); $e.Attributes.Count; $c = $e.CloneNode($true); $c.k -eq ''; $e.RemoveAll(); $e.IsEmpty
$a = $x.CreateAttribute('w'); $a.Value = '1'; [void]$e.Attributes.Append($a); $e.w; $e.Attributes['w'].Value; $e.Attributes.GetNamedItem('w').Name; [void]$e.Attributes.RemoveNamedItem('w')
[void]$x.a.InsertBefore($x.CreateElement('first'), $x.a.FirstChild); [void]$x.a.InsertAfter($x.CreateComment('c'), $x.a.FirstChild); [void]$x.a.PrependChild($x.CreateTextNode('t'))
[void]$x.a.ReplaceChild($x.CreateElement('last'), $x.a.LastChild); [void]$x.a.RemoveChild($x.a.FirstChild); [void]$x.a.AppendChild($x.CreateCDataSection('<d>')); $x.GetElementsByTagName('b').Count; $x.OuterXml
$x.Save("$PWD/x.xml"); $y = New-Object System.Xml.XmlDocument; $y.Load("$PWD/x.xml"); $y.a.b[0].Attributes['c'].Value; Get-Content x.xml
$z = [xml]'<r/>'; [void]$z.DocumentElement.AppendChild($z.ImportNode($y.a.b[0], $true)); $z.LoadXml($z.OuterXml); [void]$z.InsertBefore($z.CreateXmlDeclaration('1.0', 'utf-8', $null), $z.DocumentElement); $z.OuterXml
try { [xml]'<a><b></a>' } catch { $_.Exception.Message }; try { [xml]'' } catch { 'empty' }; try { $x.SelectNodes('//[') } catch { 'no path' }
$ns = New-Object System.Xml.XmlNamespaceManager($x.NameTable); $ns.AddNamespace('p', 'u'); $x.SelectNodes('//p:e', $ns).Count
