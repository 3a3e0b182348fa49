//! Who is in a group, as far as the machine's own files say it. A group that other databases may fill (LDAP, NIS)
//! counts as one with others in it.

use std::fs;

/// The files of users, of groups, and of the databases that the C library asks, as text.
pub struct Accounts {
    /// `/etc/passwd`.
    users: String,
    /// `/etc/group`.
    groups: String,
    /// `/etc/nsswitch.conf`.
    databases: String,
}

/// A line of `/etc/passwd`.
struct User<'a> {
    name: &'a str,
    number: u32,
    group: u32,
    shell: &'a str,
}

/// Databases whose entries are in the files, or last as long as a service.
const LOCAL: [&str; 2] = ["files", "systemd"];

impl Accounts {
    pub fn read() -> Accounts {
        // A file that is not there has no entries.
        let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
        Accounts { users: read("/etc/passwd"), groups: read("/etc/group"), databases: read("/etc/nsswitch.conf") }
    }

    /// Whether `gid` is the group of this user's process (`group`) or the user's primary one, and nobody else can act
    /// as a member of it. Root can do everything anyway, and accounts without a shell cannot log in.
    pub fn is_alone(&self, user: u32, group: u32, gid: u32) -> bool {
        let is_primary = || self.users().any(|of| of.number == user && of.group == gid);
        let is_known = self.is_local() || self.is_named_after(user, gid);
        is_known && (gid == group || is_primary()) && !self.has_others(user, gid)
    }

    fn users(&self) -> impl Iterator<Item = User<'_>> {
        self.users.lines().filter_map(|line| {
            let mut fields = line.split(':');
            let (name, number, group) = (fields.next()?, fields.nth(1)?, fields.next()?);
            let shell = fields.nth(2).unwrap_or("");
            Some(User { name, number: number.parse().ok()?, group: group.parse().ok()?, shell })
        })
    }

    /// The name and the listed members of each group with this number.
    fn groups(&self, gid: u32) -> impl Iterator<Item = (&str, &str)> {
        self.groups.lines().filter_map(move |line| {
            let mut fields = line.split(':');
            let (name, number) = (fields.next()?, fields.nth(1)?);
            (number.parse() == Ok(gid)).then(|| (name, fields.next().unwrap_or("")))
        })
    }

    fn has_others(&self, user: u32, gid: u32) -> bool {
        let is_other = |of: &User<'_>| {
            of.number != 0 && of.number != user && !of.shell.ends_with("/nologin") && !of.shell.ends_with("/false")
        };
        let is_listed = |name: &str| self.users().find(|of| of.name == name).is_none_or(|of| is_other(&of));
        let mut members = self.groups(gid).flat_map(|(_, members)| members.split(',')).map(str::trim);
        self.users().any(|of| of.group == gid && is_other(&of))
            || members.any(|name| !name.is_empty() && is_listed(name))
    }

    /// Whether all users and groups are in the files. Without `nsswitch.conf` the C library reads only these.
    fn is_local(&self) -> bool {
        let lines = self.databases.lines().filter_map(|line| line.split('#').next()?.split_once(':'));
        let asked = lines.filter(|(name, _)| ["passwd", "group", "initgroups"].contains(&name.trim()));
        // `[NOTFOUND=return]` is an action, not a database.
        let mut words = asked.flat_map(|(_, words)| words.split_whitespace()).filter(|word| !word.starts_with('['));
        words.all(|word| LOCAL.contains(&word))
    }

    /// Whether the group has the name of the user: systems make such a group for the user alone.
    fn is_named_after(&self, user: u32, gid: u32) -> bool {
        self.groups(gid).any(|(name, _)| self.users().any(|of| of.number == user && of.name == name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "root:x:0:0:root:/root:/bin/bash\ngames:x:5:60:games:/usr/games:/usr/sbin/nologin\n";

    fn accounts(users: &str, groups: &str, databases: &str) -> Accounts {
        Accounts { users: format!("{SYSTEM}{users}"), groups: groups.into(), databases: databases.into() }
    }

    /// The files of `quay.io/jupyter/base-notebook`, whose `/home/jovyan` has the mode `drwxrwsr-x` and the group 100.
    #[test]
    fn the_group_of_the_jupyter_images_is_the_users_alone() {
        let jovyan = "jovyan:x:1000:100::/home/jovyan:/bin/bash\n";
        let groups = "root:x:0:\nusers:x:100:\n";
        let image = accounts(
            jovyan,
            groups,
            "passwd:         files systemd\ngroup:          files systemd\nhosts: files dns\n",
        );
        assert!(image.is_alone(1000, 100, 100));
        // A group that the user is not in.
        assert!(!image.is_alone(1000, 100, 60));
        // The process runs with another group, and 100 is still the primary one.
        assert!(image.is_alone(1000, 5000, 100));
        assert!(!image.is_alone(2000, 5000, 100));
        assert!(accounts(jovyan, groups, "").is_alone(1000, 100, 100));
    }

    #[test]
    fn other_members_are_those_of_both_files() {
        let own = "ann:x:1001:1002::/home/ann:/bin/bash\n";
        let alone =
            |users: &str, groups: &str| accounts(&format!("{own}{users}"), groups, "").is_alone(1001, 1002, 1002);
        assert!(alone("", "ann:x:1002:"));
        assert!(alone("", "ann:x:1002:ann,root"));
        assert!(!alone("", "ann:x:1002:gone"));
        assert!(!alone("bob:x:1003:1003::/home/bob:/bin/bash", "ann:x:1002:ann,bob"));
        assert!(!alone("bob:x:1003:1002::/home/bob:/bin/bash", "ann:x:1002:"));
        assert!(!alone("bob:x:1003:1002::/home/bob:", "ann:x:1002:"), "an empty shell is /bin/sh");
        assert!(alone("web:x:33:1002::/srv:/usr/sbin/nologin\nold:x:34:34::/:/bin/false", "ann:x:1002:old"));
        // Another name of the same user.
        assert!(alone("toor:x:1001:1002::/home/ann:/bin/sh", "ann:x:1002:toor"));
    }

    #[test]
    fn databases_elsewhere_may_have_other_members() {
        let alone = |groups: &str, databases: &str| {
            accounts("ann:x:1001:500::/home/ann:/bin/bash", groups, databases).is_alone(1001, 500, 500)
        };
        assert!(!alone("staff:x:500:", "passwd: files sss\ngroup: files"));
        assert!(!alone("staff:x:500:", "passwd: files\ngroup: files [SUCCESS=merge] ldap # all"));
        assert!(alone("staff:x:500:", "passwd: files [NOTFOUND=return]\ngroup: files # ldap"));
        assert!(alone("ann:x:500:", "passwd: files sss\ngroup: files sss"));
    }
}
