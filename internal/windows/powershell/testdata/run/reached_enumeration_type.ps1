[Security.AccessControl.FileSystemRights]'Read'
