# An element that has an end tag keeps it, on a line of its own in a file: XmlDocument.Save writes so on Windows.
[xml]$x = '<c><web><compilation debug="true"></compilation><modules/></web><p>text <b></b></p></c>'
$x.c.web.compilation.IsEmpty; $x.SelectSingleNode('//modules').IsEmpty; $x.OuterXml
$x.Save("$PWD/c.xml"); Get-Content c.xml
$web = $x.c.web; $web.RemoveAll(); $web.IsEmpty; [void]$x.c.AppendChild($x.CreateElement('new')); $x.OuterXml
$x.CloneNode($true).OuterXml -eq $x.OuterXml
