<?php

// What `howdah doctor` asks PHP about itself: one JSON object on standard output. Runs with the ini files of the
// server's PHP.

declare(strict_types=1);

$names = [
    'display_errors', 'opcache.enable', 'opcache.max_accelerated_files',
    'opcache.interned_strings_buffer', 'opcache.jit', 'opcache.memory_consumption', 'opcache.save_comments',
    'opcache.validate_timestamps', 'session.save_handler', 'session.save_path', 'upload_tmp_dir',
];
$settings = [];
foreach ($names as $name) {
    $value = ini_get($name);
    $settings[$name] = $value === false ? null : $value;
}
// Bytes, and not `64M`.
$settings['opcache.jit_buffer_size'] = (string) ini_parse_quantity((string) ini_get('opcache.jit_buffer_size'));
// PHP does not keep a time zone that it does not know.
$zone = (string) get_cfg_var('date.timezone');
$settings['date.timezone'] = $zone;
$extensions = [];
foreach (array_merge(get_loaded_extensions(), get_loaded_extensions(true)) as $name) {
    $extensions[strtolower($name)] = (string) phpversion($name);
}
echo json_encode([
    'settings' => $settings,
    'extensions' => $extensions,
    'memory_limit' => ini_parse_quantity((string) ini_get('memory_limit')),
    'temp' => sys_get_temp_dir(),
    'timezone' => @date_default_timezone_get(),
    'timezones' => in_array(
        strtolower($zone),
        ['', ...array_map('strtolower', timezone_identifiers_list(DateTimeZone::ALL_WITH_BC))],
        true,
    ),
    'time' => time(),
], JSON_THROW_ON_ERROR | JSON_INVALID_UTF8_SUBSTITUTE);
