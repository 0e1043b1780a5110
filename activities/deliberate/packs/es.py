"""Spanish, with tú, usted and vos. Accents may be left out."""

from activities.deliberate.packs.pack import Pack
from activities.deliberate.targets import Target

_PICTURE = (
    "(imagen|imágenes|foto|fotos|dibujo|dibujos|ilustración|pintura|retrato|logo|logotipo|avatar"
    "|meme|fondo de pantalla)"
)
_CLIP = "(video|videos|clip|animación)"
_MAKE = (
    "(genera|genere|generar|generame|crea|cree|crear|creame|haz|haga|hacer|hazme|haceme|hace"
    "|mándame|manda|envíame|dame|muéstrame)"
)
_MESSAGE = "(mensaje|mensajes|msj|post|publicación|comentario)"
_MEMBER = "(él|ella|ellos|ellas|ese usuario|este usuario|ese tipo|esa persona|@user)"
_UNIT = (
    "(s|seg|segundo|segundos|m|min|minuto|minutos|h|hora|horas|día|días|semana|semanas|mes|meses)"
)
_REMIND = (
    "(recuérdame|recuérdanos|recordame|recuérdale|avísame|avisame|despiértame|despertame|recordarme"
    "|avisarme|despertarme)"
)

PACK = Pack(
    intents={
        Target.IMAGE: [
            "(dibuja|dibuje|dibujá|dibujar|pinta|pinte|ilustra|ilustre) (me|un|una|el|la|unos|unas"
            "|a|algo|esto|eso|ese|esa)",
            "(dibújame|dibujame|píntame|dibujarme|dibújanos)",
            f"{_MAKE} (me|) (un|una|otra|otro|la|el|unas) (nueva|nuevo|) {_PICTURE}",
            f"(genera|generar|crea|crear) {_PICTURE}",
            "(mándame|manda|envíame|toma|tómate|muéstrame) (una|otra) selfie",
            f"(edita|editar|edite|transforma|convierte) (la|esta|esa|mi|el|este|ese) {_PICTURE}",
        ],
        Target.VIDEO: [
            f"{_MAKE} (me|) (un|una|otro|otra) (nuevo|) {_CLIP}",
            f"(genera|generar|crea|crear) {_CLIP}",
            "(anima|animá|anime) (esto|esta|este|esa|ese|la imagen|la foto|el dibujo)",
            f"(convierte|convertí|convierta) … en un {_CLIP}",
        ],
        Target.VOICE: [
            "(mensaje|mensajes|nota|notas) de (voz|audio)",
            "(mándame|manda|envíame|envía|graba|grábame|haz|hazme) (un|otro) audio",
            "(di|dilo|dime|lee|léelo|responde|habla|canta|cántalo) … (en voz alta|con tu voz"
            "|por audio|en audio)",
            "(oír|escuchar|oir) tu voz",
            "(cántame|cantame|cántanos)",
            "canta (me|una|la|esa|esta|algo)",
        ],
        Target.REMINDER: [
            _REMIND,
            "(me|nos) (recuerdas|recuerdes|recordás|recuerde|avisas|avisás|despiertas|puedes "
            "recordar"
            "|podrías recordar)",
            "(recordatorio|recordatorios)",
            "(pon|ponme|poné|ponga|programa|configura|crea|quita|cancela) … (alarma|temporizador"
            "|cronómetro|despertador)",
            f"(en|dentro de) # {_UNIT} … (recuérdame|avísame|avisame|dime|despiértame|escríbeme)",
            f"(dime|avisa|escríbeme|mándame) … (en|dentro de) # {_UNIT}",
            "(cada|todos los|todas las) (día|días|mañana|mañanas|noche|noches|semana|hora|lunes"
            "|martes"
            "|miércoles|jueves|viernes|sábado|domingo) … (dime|manda|mándame|publica|envía|avisa)",
            "(no me dejes|que no se me) (olvidar|olvide)",
            "(agenda|agendar|agéndame|prográmame|reprograma) (esto|eso|un|una|el|la|para)",
            "(tarea|tareas) (programada|programadas|recurrente|recurrentes|pendiente|pendientes)",
        ],
        Target.CROSS_CHANNEL: [
            "(ve|vete|anda|andá|ir|pasa|pasate) (a|al|por|hasta) (el|) (canal|otro canal|@channel)",
            "(di|dile|diles|pregunta|pregúntale|avisa|publica|escribe|manda|anuncia|cuenta) … (en"
            "|al"
            "|a|por) (el|) (canal|otro canal|@channel)",
            "(mira|revisa|lee|fíjate|échale un ojo) … (en|a|al|el) (canal|otro canal|@channel)",
            "(en|a|al) otro canal",
        ],
        Target.SEARCH: [
            "(busca|busque|buscá|buscar|búscame|investiga|investigar|averigua) … (en|por) (la|el|) "
            "(internet|web|google|red|línea)",
            "(busca|buscá|buscame|búscame) (información|info|noticias|sobre|online|qué|quién|cuándo"
            "|cómo|dónde|cuánto)",
            "(búscalo|buscalo|búscala|googlea|googlealo|googléalo)",
            "(haz|haceme|hazme|hacer) una búsqueda",
            "(investiga|investigá|averigua|averiguá) (sobre|qué|quién|cuándo|cómo|dónde|cuánto|si"
            "|el"
            "|la|los|las|esto|eso)",
            "(últimas|últimos|nuevas) (noticias|novedades|resultados)",
            "(noticias|novedades) (de|del|sobre|hoy)",
            "(pronóstico|qué tiempo hace|cómo está el clima|cómo está el tiempo|precio actual"
            "|cotización)",
            "(abre|abrí|abra|lee|leé|resume|resumí|visita) (este|ese|esta|esa|el|la) (enlace|link"
            "|página|artículo|sitio|url|web)",
        ],
        Target.MEMORY: [
            "(olvida|borra|elimina|actualiza|corrige|edita) … (recuerdo|recuerdos|memoria"
            "|memorias)",
            "(olvida|olvidá|olvide) (lo que|todo|que yo|que me|que soy)",
            "(tu|tus) (memoria|memorias|recuerdos)",
            "qué (sabes|sabés|recuerdas|recordás) (de|sobre) (mí|él|ella|nosotros|@user)",
            "(de ahora en adelante|a partir de ahora)",
        ],
        Target.MEDIA_ANALYSIS: [
            "(lee|leé|leer|resume|resumí|analiza|analizá|explica|traduce|abre|describe|mira|revisa"
            "|transcribe) (el|la|los|las|este|esta|ese|esa|mi|mis) … (archivo|archivos|pdf"
            "|documento"
            "|adjunto|imagen|foto|captura|gif|video|dibujo)",
            "(qué|quién|quiénes) (hay|es|sale|dice|aparece|ves|está) … (en|esta|esa|este|ese) (la"
            "|el"
            "|esta|esa|este|ese|) (imagen|foto|captura|gif|video|archivo|pdf|documento|dibujo)",
            "(imagen|foto|archivo|gif) (anterior|de antes|más vieja|más antigua)",
            "(foto de perfil|imagen de perfil)",
        ],
        Target.MESSAGE_ACTION: [
            "(fija|fijá|fije|fijar|desfija|ancla|pinea) (esto|este|ese|el|la|mi|tu|su)",
            "(fíjalo|anclalo|ánclalo|pinéalo)",
            "(borra|borrá|borre|borrar|elimina|eliminá|eliminar|edita|editá|editar|corrige) (el|los"
            f"|este|ese|mi|tu|su|aquel) (último|) {_MESSAGE}",
            "(borra|borrá|elimina|edita) lo que (dijiste|escribiste|mandaste|enviaste|pusiste)",
            "(reacciona|reaccioná|reaccionar) (a|al|con)",
            "(pon|ponle|poné|agrega|añade|deja) … reacción",
            f"(responde|respondé|contesta|responder) (a|al|este|ese) (este|ese|mi|) {_MESSAGE}",
            f"(cuándo|a qué hora) … (envió|envié|mandó|mandé|escribió|dijo|{_MESSAGE[1:-1]})",
        ],
        Target.USER_BLOCKING: [
            "(bloquea|bloqueá|bloquear|desbloquea|desbloquear|silencia|silenciar|mutea|mutear"
            f"|desmutea|ignora|ignorá|ignorar) (a|al|) {_MEMBER}",
            f"(deja|dejá|deje|para) de (hablar|responder|contestar) (le|) (a|con|al|) {_MEMBER}",
            f"no le (hables|respondas|contestes) (más|) a {_MEMBER}",
        ],
        Target.USER_INFO: [
            "(llámame|llamame|dime|decime) (solo|simplemente|por mi nombre)",
            "(llámame|llamame|llamarme)",
            "(me llamo|mi nombre es|mi apodo|mis pronombres|mi zona horaria|mi huso horario)",
            "(cambia|cambiá|cambiar|actualiza|pon) … (nombre|apodo|pronombres|zona horaria)",
            "(uso|usa|usá) (los|) pronombres",
        ],
        Target.THREAD: [
            "(crea|creá|crear|abre|abrí|abrir|empieza|inicia|haz|hacé) (un|el|otro) … (hilo"
            "|thread)",
        ],
        Target.CAPABILITIES: [
            "qué (cosas|) (puedes|podés|puede|sabes|sabés) hacer",
            "(cuáles|qué) (son|) (tus|sus) (funciones|habilidades|comandos|capacidades|herramientas"
            "|opciones|ajustes)",
            "(tus|sus) (habilidades|capacidades|funciones|ajustes)",
            "(lista|listá|muestra|mostrame|muéstrame|explica|explícame|dime) (tus|los|las) … "
            "(comandos"
            "|funciones|habilidades|herramientas|ajustes|capacidades)",
            "qué (comandos|herramientas|funciones|ajustes) (tienes|tenés|tiene|hay|existen|puedo)",
            "cómo (te|) (uso|usar|configuro|configurar|se usa|activo|desactivo) (el bot|este bot"
            "|esto"
            "|esta función|te)",
            "cómo (te uso|te configuro|funcionas|se usa el bot)",
        ],
    },
    memory=[
        "(recuerda|recordá|recuerde) (que|esto|eso|mi|por)",
        "(recuérdalo|acuérdate|acordate|acuérdese)",
        "(no|nunca) (te|lo|) (olvides|olvidés|olvide|olvidar)",
        "(guarda|guardá|guarde|anota|anotá|anote|apunta|apuntá|apunte) (esto|eso|que|en)",
        "(anótalo|apúntalo|guárdalo|memorízalo)",
        "(memoriza|memorizá|memorice) (esto|eso|que|mi|el|la)",
        "(toma|tomá|tome) nota",
        "(ten|tené|tenga) en (cuenta|mente) que",
        "(ten|tené|tenga) (lo|esto|eso) en (cuenta|mente)",
        "(para|como) referencia futura",
        "para el futuro",
    ],
    self_diagnosis=[
        "por qué (no|ya no) (me|) (respondes|respondés|respondiste|contestas|contestaste|funcionas"
        "|funcionaste|haces|hiciste|puedes|podés|buscas|buscaste|usas|usaste|funciona)",
        "por qué (estás|te) (rota|roto|lento|lenta|fallando|caíste|detuviste|paraste|trabaste"
        "|ignoras)",
        "qué (te|) (pasa|pasó|sucede|ocurre) (contigo|te|a ti|con el bot)",
        "qué te (pasa|pasó|sucede|ocurre)",
        "(estás|está) (roto|rota|bugeado|bugeada|fallando|trabado|trabada|funcionando)",
        "(diagnostícate|autodiagnóstico|haz un diagnóstico|revísate)",
        "(revisa|verifica|comprueba) (tu|tus) (configuración|permisos|ajustes|registros)",
        "qué error (tuviste|te|dio|hubo|tienes)",
    ],
    link_requests=[
        "(lee|leé|leer|abre|abrí|resume|resumí|resumen|resúmelo|mira|revisa|explica|explícame"
        "|traduce|analiza|visita)",
        "(qué|quién|cuál|cómo|cuándo|dónde|por qué|opinas|opinión|piensas|dice|artículo|página"
        "|sitio)",
    ],
    follow_up=[
        "(hazlo|hacelo|inténtalo|intentalo|mándalo|envíalo|dibújalo|búscalo|repítelo|repetilo)",
        "(otra vez|de nuevo|nuevamente|una vez más)",
        "(lo mismo|la misma|el mismo|igual) (pero|con|de nuevo|otra vez|para|cosa)",
        "lo mismo",
        "(otro|otra|uno más|una más) (más|igual|así|por favor|de esos|de esas)",
        "(ahora|pero) (con|sin|en|más|menos|haz|hazlo|que)",
        "(rehaz|rehazlo|repite|regenera|regenéralo)",
        "(sí|ok|claro|dale) (por favor|hazlo|hacelo|adelante)",
    ],
    brief_follow_up=[
        "(por favor|porfa|porfis|porfavor)",
        "(otra|otro|más|uno más|una más|otra vez|de nuevo|repite|continúa|sigue)",
        "(sí|claro|dale|adelante|hazlo)",
    ],
    sayings=["en busca de", "(te acuerdas|recuerdas) cuando"],
)
