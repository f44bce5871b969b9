//! `dist/`: what ships. A file is written only when its content changed, so that the
//! runtime, which embeds the folder, is not compiled again for nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::shell::Shell;

/// The folder while it is being filled; [`Dist::finish`] removes what is no longer made.
#[derive(Debug)]
pub(crate) struct Dist {
    folder: PathBuf,
    kept: BTreeSet<String>,
    to_compress: Vec<PathBuf>,
}

impl Dist {
    /// Opens `dist/`.
    pub(crate) fn open(shell: &Shell) -> Result<Dist> {
        let folder = shell.path("dist");
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Dist { folder, kept: BTreeSet::new(), to_compress: Vec::new() })
    }

    /// Puts a file there as it is.
    pub(crate) fn put(&mut self, name: &str, content: &[u8]) -> Result<()> {
        self.kept.insert(name.to_string());
        self.write(name, content).map(drop)
    }

    /// Puts a file there, to be served with its compressed forms `.br` and `.gz`.
    pub(crate) fn put_served(&mut self, name: &str, content: &[u8]) -> Result<()> {
        self.put(name, content)?;
        let forms = [format!("{name}.br"), format!("{name}.gz")];
        let source = crate::tools::modified(&self.folder.join(name));
        if forms.iter().any(|form| crate::tools::modified(&self.folder.join(form)) < source) {
            self.to_compress.push(self.folder.join(name));
        }
        self.kept.extend(forms);
        Ok(())
    }

    /// Compresses what is new and removes what was not put.
    pub(crate) fn finish(self, shell: &Shell) -> Result<()> {
        if !self.to_compress.is_empty() {
            compress(shell, &self.to_compress)?;
        }
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if !self.kept.contains(entry.file_name().to_string_lossy().as_ref()) {
                fs::remove_file(entry.path())
                    .with_context(|| format!("cannot remove {}", entry.path().display()))?;
            }
        }
        Ok(())
    }

    fn write(&self, name: &str, content: &[u8]) -> Result<bool> {
        let path = self.folder.join(name);
        if fs::read(&path).is_ok_and(|old| old == content) {
            return Ok(false);
        }
        fs::write(&path, content).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(true)
    }
}

/// Writes `.br` (quality 11) and `.gz` (level 9) beside each file. Node.js carries both
/// compressors, so none has to be compiled.
pub(crate) fn compress(shell: &Shell, files: &[PathBuf]) -> Result<()> {
    let mut command = shell.command("node");
    command.arg(shell.path("xtask/src/compress.mjs")).args(files);
    shell.run(command)
}

/// SHA-256 in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of a file; 0 if there is none.
pub(crate) fn size_of(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |meta| meta.len())
}
