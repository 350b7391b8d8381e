try { echo x } catch [System.Xml.XmlException] { }
